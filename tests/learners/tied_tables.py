"""Two tables of partial label ranking, whose rankings tie labels, and what was published on them.

Iris and wine with the rankings of Alfaro, Aledo and Gámez (OpenML 42851 and 42872), as the
repository of Thies, Alfaro and Bengs, "MORE-PLR: multi-output regression employed for partial label
ranking" (Discovery Science 2024; github.com/Advueu963/MORE-PLR), has them in ``data/PLR_DATA``:
dense positions of three labels, written as digits, for the rows of scikit-learn's tables. Its
features are standardised, which forests do not see, and iris has the two cells of UCI's file that
scikit-learn corrects.
"""

from sklearn.datasets import load_iris, load_wine

from tests.learners.neighbor_golden import rankings

# Mean tau_x over ten folds five times, ``RepeatedKFold(n_splits=10, n_repeats=5, random_state=0)``,
# of models made of random forests of 100 trees: ``data/tables/partial_label_ranking/0/test_score``
# there. "RPC" has a forest for each pair of labels; the others are regressions of the positions.
PUBLISHED = {
    "iris": {
        "Chain_PI": 0.844, "Chain_RR": 0.925, "Native_PI": 0.868, "Native_RR": 0.930,
        "RPC": 0.932, "ST_PI": 0.827, "ST_RR": 0.932,
    },
    "wine": {
        "Chain_PI": 0.863, "Chain_RR": 0.870, "Native_PI": 0.861, "Native_RR": 0.878,
        "RPC": 0.879, "ST_PI": 0.879, "ST_RR": 0.896,
    },
}  # fmt: skip
IRIS = rankings(
    """
    122 122 122 122 122 122 122 122 122 122 122 122 122 122 123 123 122 122 123 122 122 122 122
    122 122 122 122 122 122 122 122 122 122 123 122 122 123 122 122 122 122 123 122 122 122 122
    122 122 122 122 312 312 312 312 312 212 312 312 212 312 312 212 312 312 212 212 212 212 312
    212 321 212 312 312 312 212 312 321 312 212 212 212 212 321 212 312 212 312 212 312 312 212
    312 312 212 212 212 212 212 212 321 321 221 221 221 221 312 221 321 221 321 321 221 321 221
    221 321 221 221 312 221 321 221 321 321 321 321 321 221 211 221 221 221 312 211 221 221 321
    321 221 221 321 321 221 221 321 321 321 321 321
    """
)
WINE = rankings(
    """
    123 123 122 122 123 122 122 122 123 123 122 123 123 122 122 123 123 123 123 122 123 123 123
    123 123 123 122 123 123 123 123 122 123 123 123 123 123 123 123 123 123 123 122 112 123 132
    123 123 122 132 123 123 123 122 123 123 122 122 123 312 312 211 212 213 212 213 213 212 312
    212 312 213 212 123 213 312 212 312 213 213 213 213 212 321 312 212 212 212 212 212 212 312
    312 213 213 213 312 213 213 213 213 312 212 212 212 312 212 312 212 213 212 212 312 212 212
    212 213 213 312 212 213 213 212 213 212 213 212 312 213 312 321 321 321 321 321 321 321 321
    321 321 321 231 321 321 321 321 321 321 221 321 321 321 321 221 321 221 321 221 321 321 321
    321 321 221 221 321 221 221 221 321 321 321 221 221 221 231 231 321
    """
)


def tied_table(name):
    """Features of a table, and its rankings."""
    if name == "wine":
        return load_wine(return_X_y=True)[0], WINE
    features, _ = load_iris(return_X_y=True)
    features[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    return features, IRIS
