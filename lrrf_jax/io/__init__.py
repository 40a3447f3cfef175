"""Tables in and out of bulk prediction."""

from typing import TYPE_CHECKING

from lrrf_jax._lazy import lazily

if TYPE_CHECKING:
    from lrrf_jax.io.arrow import predict_arrow, ranking_schema
    from lrrf_jax.io.manifest import read_manifest

__all__ = ["predict_arrow", "ranking_schema", "read_manifest"]

# pyarrow is imported when tables are read.
_HOMES = {"predict_arrow": "arrow", "ranking_schema": "arrow", "read_manifest": "manifest"}
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES)
