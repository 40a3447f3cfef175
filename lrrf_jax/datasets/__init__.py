"""Label ranking data: sets that need no network, the KEBI sets, recipes, and file readers."""

from typing import TYPE_CHECKING

from lrrf_jax._lazy import lazily

if TYPE_CHECKING:
    from lrrf_jax.datasets.aslib import read_aslib
    from lrrf_jax.datasets.builtin import builtin_names, load
    from lrrf_jax.datasets.container import LabelRankingData
    from lrrf_jax.datasets.kebi import fetch_kebi, kebi_names
    from lrrf_jax.datasets.readers import read
    from lrrf_jax.datasets.recipes import from_classification, from_regression
    from lrrf_jax.rankings.missing import delete_labels

__all__ = [
    "LabelRankingData",
    "builtin_names",
    "delete_labels",
    "fetch_kebi",
    "from_classification",
    "from_regression",
    "kebi_names",
    "load",
    "read",
    "read_aslib",
]

# The readers import pyarrow, which the sets that are built in do without.
_HOMES = {
    "LabelRankingData": "container",
    "builtin_names": "builtin",
    "delete_labels": ".rankings.missing",
    "fetch_kebi": "kebi",
    "from_classification": "recipes",
    "from_regression": "recipes",
    "kebi_names": "kebi",
    "load": "builtin",
    "read": "readers",
    "read_aslib": "aslib",
}
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES)
