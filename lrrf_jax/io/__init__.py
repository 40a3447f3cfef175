"""Tables in and out of bulk prediction."""

from lrrf_jax.io.arrow import predict_arrow, ranking_schema
from lrrf_jax.io.manifest import read_manifest

__all__ = ["predict_arrow", "ranking_schema", "read_manifest"]
