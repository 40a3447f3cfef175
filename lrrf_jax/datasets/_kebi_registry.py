"""The KEBI sets that there are, for which neither NumPy nor a reader is needed."""

import json
from importlib import resources
from typing import NamedTuple

SUFFIXES = (".csv.gz", ".csv", ".parquet", ".npz", ".xarff", ".txt")  # of copies


class KebiSet(NamedTuple):
    """What is known of a set before it is there."""

    type: str  # A: made of a classification set, B: of a regression set
    rows: int
    features: int
    labels: int
    rankings_sha256: str
    features_sha256: str
    feature_waves: list[float]


def kebi_sets() -> dict[str, KebiSet]:
    """Read the registry, name -> what is known."""
    text = resources.files("lrrf_jax.datasets").joinpath("kebi.json").read_text("utf-8")
    return {name: KebiSet(**facts) for name, facts in json.loads(text).items()}
