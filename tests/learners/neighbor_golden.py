"""Predictions of scikit-lr 0.3.0, on a small table of whole numbers.

Made under Python 3.13, with ``pip install scikit-lr==0.3.0``: ``X``, ``Y`` and ``PARTIAL`` as
below (rows of PARTIAL that rank fewer than two labels left out) and ``KNeighborsLabelRanker(7,
model=model, weights=weights).fit(X, Y).predict(QUERIES)``; rankings are written as digits.
"""

import numpy as np


def rankings(text):
    """Read rankings written as digits, a dot for a missing label."""
    return np.array(
        [[np.nan if digit == "." else float(digit) for digit in row] for row in text.split()]
    )


X = np.array(
    """
    47 31 34 44 28 38 41 11 2 15 14 43 45 0 24 41 6 39 5 23 40 15 17 13 35 12 49 22 23 25 29
    27 25 49 40 39 35 31 17 49 23 10 42 8 42 30 5 2 22 1 7 25 48 23 40 45 41 31 22 25 13 24
    18 12 49 0 4 9 48 34 44 10 36 18 24 0 30 41 33 7 26 13 48 44 9 25 46 42 35 31 2 37 23 4
    12 27 36 25 30 43 34 18 32 29 5 2 33 19 29 16 11 7 19 40 20 18 28 48 19 29
    """.split(),
    float,
).reshape(-1, 3)
QUERIES = 0.25 + np.array(
    """
    29 28 19 31 13 30 39 4 22 33 2 31 45 41 34 40 18 16 4 36 15 43 23 44 6 8 17 1 24 32 33
    10 8 28 31 47
    """.split(),
    float,
).reshape(-1, 3)
Y = rankings(
    """
    1234 2413 1342 4312 1432 1423 4312 4132 2413 2314 4231 1324 1342 1342 2413 1342 3412
    2134 1243 1432 4132 3142 4312 2143 2431 4312 1423 4123 4213 2143 4132 4321 1234 1243
    1243 4321 1234 4213 2431 1423
    """
)
PARTIAL = rankings(
    """
    12.3 .312 1.32 .2.1 .1.. 1.23 321. .12. 2413 .21. 312. 1324 .231 .1.. 2413 ..21 2..1
    21.3 123. 1432 2.1. 1.2. ..1. ...1 .2.1 4312 1.2. 1... .21. .132 312. 1... ...1 1243
    1243 .1.. 12.3 3.12 .2.1 ...1
    """
)
PREDICTIONS = {  # (model, weights, rankings)
    ("mallows", "uniform", "complete"): (
        "1342 1432 1423 1423 1234 1342 4132 1324 4312 4312 1432 2314"
    ),
    ("mallows", "uniform", "partial"): (
        "1342 1432 1423 1423 1243 1342 4213 1324 4312 4312 1243 1423"
    ),
    ("mallows", "distance", "complete"): (
        "1342 1432 1432 1423 1234 1432 4132 1324 4321 4312 1342 2314"
    ),
    ("mallows", "distance", "partial"): (
        "1342 1432 1423 1423 1234 1342 4123 2413 4312 4312 1243 1423"
    ),
    ("mallows", "dudani", "complete"): (
        "2341 1432 1432 1423 1234 1432 4231 2413 4231 4312 1342 1324"
    ),
    ("mallows", "dudani", "partial"): (
        "2341 1432 1432 1423 1234 1432 4123 2413 4231 4312 1243 1423"
    ),
    ("plackett_luce", "uniform", "complete"): (
        "1342 1423 1423 1423 1234 1432 4132 1423 4312 4312 1342 2314"
    ),
    ("plackett_luce", "uniform", "partial"): (
        "1342 1423 1423 1423 1243 1342 4123 1423 4213 4312 1243 2431"
    ),
    ("plackett_luce", "distance", "complete"): (
        "1342 1423 1423 1423 1234 1432 4132 1423 4321 4312 1342 2314"
    ),
    ("plackett_luce", "distance", "partial"): (
        "2341 1432 1423 1423 1243 1342 4123 1423 4213 4312 1243 1432"
    ),
    ("plackett_luce", "dudani", "complete"): (
        "2341 1432 1432 1423 1234 1432 4231 2413 4321 4312 1342 1423"
    ),
    ("plackett_luce", "dudani", "partial"): (
        "4231 1432 1423 1423 1234 1342 3124 2413 4231 4312 1243 1423"
    ),
}
# Of the first 28 rows of PARTIAL that rank two labels, in four tables of seven:
# `sklr._distributions.mallows.estimate_center_batch`, `.estimate_spread_batch` and
# `sklr._distributions.plackett_luce.estimate_parameters_batch`, all of weight 1.
TABLE_CENTRES = "1324 1423 1342 2143"
TABLE_SPREADS = [1.176725, 0.83016, 1.176725, 0.6468]
TABLE_STRENGTHS = [
    [0.46601, 0.165365, 0.22325, 0.145375],
    [0.343956, 0.125311, 0.332834, 0.197898],
    [0.390091, 0.132363, 0.126878, 0.350667],
    [0.239145, 0.385413, 0.126663, 0.248779],
]
