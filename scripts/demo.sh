#!/usr/bin/env bash
# Train a forest on a part of a built-in data set, rank the rest, and score it: about a minute
# after the installation. Needs Python 3.11 or newer with pip and venv; PYTHON names another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/_venv.sh
prepare_venv
lrrf=.venv/bin/lrrf
out=demo-output
mkdir -p "$out"

.venv/bin/python - "$out" <<'PYTHON'
import csv
import sys

import numpy as np

from lrrf_jax.datasets import load

iris = load("iris")
header = [*iris.feature_names, *(f"L_{label}" for label in iris.labels)]
rows = np.column_stack([iris.X, iris.y.astype(object)])
order = np.random.default_rng(1).permutation(len(rows))
for name, part in (("train", order[:100]), ("test", order[100:])):
    with open(f"{sys.argv[1]}/{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows[part]])
PYTHON

echo "== train on 100 rows"
"$lrrf" train "$out/train.csv" --labels 'L_*' --model "$out/iris.lrrf" --seed 0
echo "== rank the labels of 50 other rows"
"$lrrf" predict "$out/iris.lrrf" "$out/test.csv" --output "$out/ranks.csv" --overwrite
echo "== score the model on these rows (tau: 1 is perfect, 0 is chance)"
"$lrrf" evaluate "$out/test.csv" --model "$out/iris.lrrf" --labels 'L_*'
echo "== done: model $out/iris.lrrf, predictions $out/ranks.csv, data $out/train.csv, $out/test.csv"
