"""What the last fit saw: rows that neighbours are found among, and what a fit may go on with."""

import dataclasses
import numbers
from typing import Any, NamedTuple, Self

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._coding import Categories
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import hash_of, rankings_learnt
from lrrf_jax.rankings.ties import has_ties
from lrrf_jax.trees.blocks import Grown
from lrrf_jax.trees.forest import Forest, is_split

_PARAMETER_OF = {"n_candidates": "max_features", "max_thresholds": "max_bins"}


class LastFit(NamedTuple):
    """The training table of a fit, the settings, and what splits gained."""

    features: NDArray  # float32 (n_samples, n_features)
    positions: NDArray  # float32 (n_samples, n_labels), NaN: missing
    rankings: str  # a hash of what was learnt, which may be scores
    weight: NDArray | None  # float64 (n_samples,)
    row: NDArray  # int64 (n_samples,), in the user's table
    n_rows: int  # of the user's table
    labels: list[str]
    feature_names: list[str] | None
    missing: str
    config: ForestConfig
    seed: int
    categories: Categories
    gain: NDArray  # float32 (n_splits,), trees in order, in each level after level

    @classmethod
    def of(
        cls, table: TrainingTable, config: ForestConfig, missing: str, seed: int, grown: Grown
    ) -> Self:
        """Remember a fit."""
        return cls(
            table.features,
            table.positions,
            hash_of(rankings_learnt(table, config)),
            table.weight,
            table.row,
            table.n_rows,
            table.labels,
            table.feature_names,
            missing,
            config,
            seed,
            table.categories,
            np.asarray(grown.gain)[is_split(grown.forest)],
        )

    def table(self) -> TrainingTable:
        """Give the training table back, without scores that rankings were learnt with."""
        return TrainingTable(
            self.features,
            self.positions,
            self.weight,
            self.row,
            self.labels,
            self.feature_names,
            self.n_rows,
            complete=not np.isnan(self.positions).any() and not has_ties(self.positions),
            tied=has_ties(self.positions),
            categories=self.categories,
        )

    def grown(self, forest: Forest) -> Grown:
        """Give the trees of the fit back with what their splits gained."""
        gain = np.zeros(forest.feature.shape, np.float32)
        gain[is_split(forest)] = self.gain
        return Grown(forest, gain)

    def require_same(
        self, table: TrainingTable, config: ForestConfig, missing: str, random_state: Any
    ) -> None:
        """Raise InputError where a fit with more trees would not go on with this one."""
        if changed := self._first_difference(table, config, missing, random_state):
            raise InputError(
                "warm_start needs the data and the parameters of the last fit, but for "
                f"n_estimators; {changed} differs. Set warm_start=False to start afresh."
            )
        if config.n_trees < self.config.n_trees:
            raise InputError(
                f"n_estimators must not fall with warm_start; it was {self.config.n_trees} and "
                f"is {config.n_trees}. Set warm_start=False to start afresh."
            )

    def _first_difference(
        self, table: TrainingTable, config: ForestConfig, missing: str, random_state: Any
    ) -> str | None:
        """Name the first argument that differs."""
        seeded = isinstance(random_state, numbers.Integral)
        unchanged = {
            "missing": table.complete or missing == self.missing,
            "X": _same(table.features, self.features) and table.categories == self.categories,
            "y": hash_of(rankings_learnt(table, config)) == self.rankings,
            "sample_weight": _same(table.weight, self.weight),
            "labels": table.labels == self.labels,
            "feature_names": table.feature_names == self.feature_names,
            "random_state": not seeded or int(random_state) % 2**32 == self.seed,
        }
        theirs = dataclasses.asdict(self.config)
        for name, value in dataclasses.asdict(config).items():
            unchanged[_PARAMETER_OF.get(name, name)] = name == "n_trees" or value == theirs[name]
        return next((name for name, same in unchanged.items() if not same), None)


def _same(one: NDArray | None, other: NDArray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other, equal_nan=True)
