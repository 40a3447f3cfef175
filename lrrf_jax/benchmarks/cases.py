"""What is measured: the shapes of the tables, their sizes, and the synthetic rows in them."""

import dataclasses
import functools
import gzip
import pathlib
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray

_FUNCTION_SEED = 123  # of the hidden function: the same one for training and other rows


class Shape(NamedTuple):
    """Numbers of features and labels of a table; of a real one its name, too."""

    n_features: int
    n_labels: int
    real: str = ""

    @property
    def name(self) -> str:
        """How the shape is written on a command line and in tables."""
        return self.real or f"d{self.n_features}m{self.n_labels}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What one benchmark runs.

    Parameters
    ----------
    shapes, predict_rows, fit_rows
        Every shape is measured at every number of rows; with more than 100,000 the first one only.
    data, real
        A folder of the KEBI sets, and those that are fitted; without the folder none is.
    small
        Rows and shapes of tables that several learners are fitted to.
    training_rows
        Rows that the forest of the prediction cases is grown on.
    n_trees, max_depth
        Of every forest, the peers' included.
    max_bins
        Candidate thresholds a feature of the forest of the prediction cases.
    rounds
        Runs of each engine in a cell, at most; fewer where they take ``cell_seconds`` together.
    cell_seconds
        Time after which a cell starts no further round.
    longest_seconds
        A run that is expected to take longer is left out, and said to be.
    left_out
        Names of engines that are not run.
    peers_on_all_threads
        Run the peers, too, on all cores besides on one.
    """

    shapes: tuple[Shape, ...] = (Shape(16, 10), Shape(9, 5), Shape(70, 4))
    predict_rows: tuple[int, ...] = (1, 8, 32, 100, 10_000, 65_536, 1_000_000)
    fit_rows: tuple[int, ...] = (150, 11_000, 100_000, 1_000_000)
    data: str | None = None
    real: tuple[str, ...] = ("pendigits", "fried")
    small: tuple[tuple[int, Shape], ...] = (
        (33, Shape(1024, 5)),
        (33, Shape(1024, 23)),
        (500, Shape(64, 23)),
        (2_000, Shape(16, 16)),
    )
    training_rows: int = 11_000
    n_trees: int = 50
    max_depth: int = 8
    max_bins: int = 63
    rounds: int = 9
    cell_seconds: float = 5.0
    longest_seconds: float = 45.0
    left_out: tuple[str, ...] = ()
    peers_on_all_threads: bool = False


FULL = Plan()
# For any machine, a few minutes.
THOROUGH = Plan(
    shapes=(Shape(16, 10),),
    predict_rows=(1, 100, 10_000, 100_000),
    fit_rows=(150, 11_000, 100_000),
    small=(),
    rounds=5,
    cell_seconds=8.0,
    longest_seconds=10.0,
    peers_on_all_threads=True,
)
# Less than a minute.
QUICK = Plan(
    shapes=(Shape(16, 10),),
    predict_rows=(1, 100, 10_000),
    fit_rows=(2_000,),
    small=(),
    training_rows=2_000,
    rounds=5,
    cell_seconds=3.0,
    longest_seconds=5.0,
    left_out=("lrrf_jax, default",),
    peers_on_all_threads=True,
)


DATA_NOTE = (
    "features: standard normal; labels ranked by a random two-layer tanh network of the features "
    "plus normal noise of half a unit on every label's score, so that trees have real structure "
    "to find, never end pure early, and are nearly full at depth 8; seeds 0 (training) and 1"
)


@functools.cache
def real_table(folder: str, name: str) -> tuple[Shape, NDArray, NDArray]:
    """Read a KEBI set: its shape, float32 features (columns A...) and positions (L...)."""
    path = pathlib.Path(folder) / f"{name}.csv.gz"
    with gzip.open(path, "rt") as lines:
        columns = next(lines).split(",")
    values = np.loadtxt(path, np.float32, delimiter=",", skiprows=1)
    is_label = np.array([column.startswith("L") for column in columns])
    features, positions = (np.ascontiguousarray(values[:, of]) for of in (~is_label, is_label))
    return Shape(features.shape[1], positions.shape[1], name), features, positions


def synthetic(
    shape: Shape, n_samples: int, seed: int
) -> tuple[NDArray, NDArray]:  # float32 (n_samples, n_features), float32 (n_samples, n_labels)
    """Draw features, and the positions of labels whose scores are a noisy function of them."""
    fixed, rng = np.random.default_rng(_FUNCTION_SEED), np.random.default_rng(seed)
    n_features, n_labels = shape[:2]
    hidden = fixed.standard_normal((n_features, 2 * n_features)) / np.sqrt(n_features)
    output = fixed.standard_normal((2 * n_features, n_labels))
    features = rng.standard_normal((n_samples, n_features), np.float32)
    positions = np.empty((n_samples, n_labels), np.float32)
    for start in range(0, n_samples, 100_000):  # the hidden layer of a million rows is large
        block = features[start : start + 100_000]
        score = np.tanh(block @ hidden) @ output
        score += rng.standard_normal(score.shape) / 2
        positions[start : start + 100_000] = np.argsort(np.argsort(-score, 1), 1) + 1
    return features, positions
