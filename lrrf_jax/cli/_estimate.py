"""What a model may be worth on rows that it has not seen, as `lrrf train` tells it."""

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

from lrrf_jax._validation import InputError

# Beyond these rows, only where it is asked for: a forest of 50 trees takes a third longer with its
# rows out of bag, 0.2 s for 20,000; five further fits take seconds for 2,000.
_OUT_OF_BAG, _CROSS_VALIDATED = 100_000, 2_000
_FOLDS = 5


class Estimate:
    """Tau of rows that trees did not draw, where there are such, or else by cross-validation.

    Rows of a group would be told apart by nobody out of bag, and folds that the data bring are
    there to be used: both are cross-validated.
    """

    def __init__(self, ranker: Any, table: Any, wanted: bool | None) -> None:
        self._ranker, self._table = ranker, table
        self.found: dict[str, Any] | None = None
        self.why_not = ""
        self.seconds = 0.0
        params = ranker.get_params()
        self._asked_for = bool(params.get("oob_score"))
        plain = table.groups is None and table.folds is None
        self._out_of_bag = plain and "oob_score" in params and params.get("bootstrap", True)
        most = _OUT_OF_BAG if self._out_of_bag else _CROSS_VALIDATED
        if wanted is False:
            self.why_not = "--no-check"
        elif wanted is None and len(table.X) > most:
            how = "out of bag" if self._out_of_bag else f"with {_FOLDS} more fits"
            self.why_not = f"more than {most:,} rows; --check does it {how}"

    @contextlib.contextmanager
    def while_fitted(self) -> Iterator[None]:
        """Have a forest rank the rows out of bag as it is fitted; the model is what it would be."""
        if self.why_not or not self._out_of_bag:
            yield
            return
        if not self._asked_for:
            self._ranker.set_params(oob_score=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*drawn by every tree")  # told by `words`
            yield
        import numpy as np

        ranker = self._ranker
        n_rows = int((~np.isnan(ranker.oob_ranking_).all(axis=1)).sum())
        tau = float(ranker.oob_score_)
        if not self._asked_for:
            ranker.set_params(oob_score=False)
            del ranker.oob_score_, ranker.oob_ranking_
        if np.isfinite(tau):
            self.found = {"kind": "out-of-bag", "tau": tau, "rows": n_rows}
        else:
            self.why_not = "no row that ranks two labels is out of the bag of a tree"

    def cross_validate(self, seed: int) -> None:
        """Fit further models to parts of the rows, where nothing was ranked out of bag."""
        if self.why_not or self.found:
            return
        from lrrf_jax.evaluation import cross_validate

        table, started = self._table, time.perf_counter()
        target = {"y": table.y} if table.scores is None else {"scores": table.scores}
        groups = len(table.X) if table.groups is None else len(set(table.groups.tolist()))
        if table.folds is None and groups < 2:
            self.why_not = "a single row, or group, cannot be cut into folds"
            return
        folds = min(_FOLDS, groups) if table.folds is None else table.folds
        options = {"groups": table.groups, "sample_weight": table.sample_weight, "measures": []}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is to be told of all rows is told by the fit
                result = cross_validate(
                    self._ranker, table.X, folds=folds, repeats=1, seed=seed, **target, **options
                )
        except InputError as error:
            self.why_not = str(error)
            return
        self.seconds = time.perf_counter() - started
        if result.mean != result.mean:
            self.why_not = "no row that is tested ranks two labels that others rank"
            return
        self.found = {
            "kind": "cross-validated",
            "tau": result.mean,
            "rows": len(table.X),
            "folds": result.scores.shape[1],
            "of": "groups" if table.groups is not None and table.folds is None else "rows",
        }

    def words(self) -> str:
        """Say it in a line."""
        if self.found is None:
            return f"tau on new rows: not estimated ({self.why_not.rstrip('.')})"
        n_rows = f"{self.found['rows']} of {len(self._table.X)} rows"
        if self.found["kind"] == "out-of-bag":
            return f"out-of-bag tau: {self.found['tau']:.3f} ({n_rows})"
        of_groups = " of whole groups" * (self.found["of"] == "groups")
        return (
            f"cross-validated tau: {self.found['tau']:.3f} ({self.found['folds']} folds"
            f"{of_groups}, {self.seconds:.1f} s)"
        )
