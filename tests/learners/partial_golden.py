"""Bucket orders of scikit-lr 0.3.0, for the table of `neighbor_golden` and two that tie labels.

Made under Python 3.13, with ``pip install scikit-lr==0.3.0``, from rows that rank two labels or
more, and tie not all of them: ``KNeighborsPartialLabelRanker(7, weights=weights).fit(X,
Y).predict(QUERIES)``, and ``DecisionTreePartialLabelRanker(criterion=criterion,
min_samples_leaf=4, random_state=0).fit(X, Y)``, of which ``apply(X)``, the leaf of each row, and
the prediction in each leaf, in the order of their numbers. Positions are dense.
"""

from tests.learners.neighbor_golden import PARTIAL, QUERIES, X, Y, rankings

__all__ = ["PREDICTIONS", "QUERIES", "TABLES", "TREES", "X", "rankings"]

TIED = rankings(
    """
    1213 1212 1233 3412 1322 1312 3212 2231 2313 2312 1112 1222 2221 1231 1423 1332 1322
    3124 2113 2122 1212 3142 3312 2143 1111 2111 1211 4123 3212 1234 3121 4321 1321 1122
    1121 3121 1232 3212 2312 1232
    """
)
HOLES = rankings(
    """
    .1.2 .1.1 1.22 3.12 13.2 1312 3212 112. .1.1 1... 111. 1222 111. 123. 1.2. 1332 .211
    312. 21.3 .... ..12 ..21 .312 21.3 ..1. 1... 1.11 ...1 3212 .1.. 3.21 321. 1.2. .12.
    .1.. 312. 12.. .212 ..12 1232
    """
)
TABLES = {"strict": Y, "partial": PARTIAL, "tied": TIED, "holes": HOLES}
PREDICTIONS = {  # (table, weights)
    ("strict", "uniform"): ("1222 1211 1322 1322 1233 1222 2111 1112 1111 2111 1222 1111"),
    ("strict", "distance"): ("1111 1211 1322 1322 1233 1222 2111 1212 1111 3212 1222 1111"),
    ("strict", "dudani"): ("1111 1321 1322 1322 1233 1221 3121 1212 2111 3212 1222 1111"),
    ("partial", "uniform"): ("1232 1322 1322 1312 1222 1232 1111 1212 1111 4312 1232 1111"),
    ("partial", "distance"): ("1111 1322 1322 1312 1222 1332 2112 1212 1111 4312 1243 1111"),
    ("partial", "dudani"): ("1332 1432 1423 1423 1222 1332 2122 2313 2311 4312 1222 1312"),
    ("tied", "uniform"): ("1111 1211 1222 1312 1112 1121 1111 1222 1111 2111 1221 2212"),
    ("tied", "distance"): ("1111 1211 1322 1312 1112 1121 3121 1212 1211 2111 1222 2212"),
    ("tied", "dudani"): ("1111 1111 1322 1312 1112 1121 3121 1212 1111 3212 1222 1111"),
    ("holes", "uniform"): ("1123 1222 1222 1222 1122 1232 2111 1222 1111 3212 1222 1111"),
    ("holes", "distance"): ("1123 1222 1332 1222 1122 1232 3121 1222 1111 3212 1332 1111"),
    ("holes", "dudani"): ("1234 1423 1322 1423 1122 1232 3121 1222 1111 3212 1332 1111"),
}
TREES = {  # (table, criterion): leaf of each row, bucket order of each leaf
    ("strict", "entropy"): (
        """
        14 11 9 3 9 11 3 2 11 7 7 14 13 9 11 9 7 14 14 10 2 2 3 13 9 3 10 3 3 14 2 2 10
        13 13 2 7 3 7 10
        """,
        "3121 3212 1111 1332 1222 1312 1132 1122",
    ),
    ("strict", "disagreements"): (
        """
        14 14 10 5 10 10 4 2 9 13 13 14 13 14 10 9 9 13 13 11 2 2 4 13 11 4 9 5 5 13 2 4
        13 13 13 2 9 5 11 11
        """,
        "4132 3211 3112 1312 1322 1321 1122 1222",
    ),
    ("partial", "entropy"): (
        """
        9 10 8 3 10 3 2 10 3 6 10 9 10 6 2 6 10 8 2 2 8 3 8 3 9 2 9 9 6 3 3
        """,
        "2111 4312 4132 1432 1243 1212",
    ),
    ("partial", "disagreements"): (
        """
        8 7 6 2 7 3 2 7 3 7 8 8 7 6 2 8 8 7 3 3 6 3 7 3 8 3 8 8 6 2 2
        """,
        "1111 4312 1222 1312 1243",
    ),
    ("tied", "entropy"): (
        """
        13 13 7 11 12 12 2 8 11 11 13 13 8 8 12 7 7 14 14 11 11 14 2 14 3 11 14 3 13 3 2
        12 13 8 3 7 2 11 12
        """,
        "3211 2111 1222 2231 2312 1322 1223 2122",
    ),
    ("tied", "disagreements"): (
        """
        14 14 8 4 13 13 3 4 12 12 14 14 9 9 13 8 8 9 14 12 4 5 3 9 5 12 5 3 14 5 3 12 9
        9 5 8 3 4 13
        """,
        "3212 1211 3121 1222 1121 1211 1322 1112",
    ),
    ("holes", "entropy"): (
        """
        10 9 5 7 7 5 2 10 10 7 7 2 4 9 2 2 5 9 5 4 4 9 9 4 9 5 5 10
        """,
        "1111 3121 3212 1322 1122 1232",
    ),
    ("holes", "disagreements"): (
        """
        8 8 7 5 5 3 7 8 8 5 5 5 7 7 2 2 3 7 3 2 3 7 8 2 7 3 7 8
        """,
        "3121 3212 1322 2123 1232",
    ),
}
