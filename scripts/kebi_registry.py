"""Write the registry that `lrrf_jax.datasets.fetch_kebi` checks downloads with.

    python scripts/kebi_registry.py FOLDER > lrrf_jax/datasets/kebi.json

FOLDER holds the sixteen sets as NAME.csv.gz (columns A1.., L1..) and INDEX.csv (name, type, rows,
features, labels). No file is hashed, but what it says: copies of these sets differ in format, line
ends and the notation of numbers, while rankings and float32 features are the same.
"""

import csv
import json
import pathlib
import sys

import numpy as np

from lrrf_jax.datasets import read
from lrrf_jax.datasets.kebi_content import feature_waves, fingerprint


def main(folder: pathlib.Path) -> None:
    sets = {}
    with open(folder / "INDEX.csv", newline="") as lines:
        for row in csv.DictReader(lines):
            data = read(folder / f"{row['dataset']}.csv.gz")
            shape = [len(data.X), data.X.shape[1], data.y.shape[1]]
            assert shape == [int(row[key]) for key in ("instances", "features", "labels")]
            sets[row["dataset"]] = {
                "type": row["type"],
                "rows": shape[0],
                "features": shape[1],
                "labels": shape[2],
                "rankings_sha256": fingerprint(data.y),
                "features_sha256": fingerprint(data.X),
                "feature_waves": np.round(feature_waves(data.X), 7).tolist(),
            }
    lines = [f" {json.dumps(name)}: {json.dumps(facts)}" for name, facts in sets.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
