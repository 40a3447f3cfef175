"""The measures that a cross-validation can take beside tau, by their names."""

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

DEFAULT_OF_SCORES = ("utility", "regret", "relative_regret", "gap_closed", "hit_rate")


class Measure(NamedTuple):
    """A metric, and the k of "regret@3"."""

    metric: str
    k: int | None = None

    @property
    def name(self) -> str:
        """As it is typed."""
        return self.metric if self.k is None else f"{self.metric}@{self.k}"

    @property
    def of_scores(self) -> bool:
        """Tell whether it takes scores, not rankings."""
        return self.metric in metrics.OF_SCORES

    @property
    def larger_is_better(self) -> bool:
        """Tell which of two values is the better one."""
        return not self.metric.endswith(("regret", "_distance"))

    def rows(self, truth: NDArray, positions: NDArray) -> NDArray:  # float64 (n_samples,)
        """Value of each row, NaN where it is undefined."""
        options = {} if self.k is None else {"k": self.k}
        return getattr(metrics, self.metric)(truth, positions, per_row=True, **options)


def as_measures(
    names: Iterable[str] | None, has_scores: bool, n_labels: int
) -> tuple[Measure, ...]:
    """Check the names of measures; ``None``: those of scores where there are scores.

    Raises
    ------
    InputError
        For a name that is unknown, a ``k`` outside 1 to n_labels, and measures of scores without
        scores.
    """
    if names is None:
        names = DEFAULT_OF_SCORES if has_scores else ()
    if isinstance(names, str):
        raise InputError(f"measures must be a list of names, such as [{names!r}]; it is a text.")
    found = [as_measure(name) for name in dict.fromkeys(names)]
    for measure in found:
        if measure.of_scores and not has_scores:
            raise InputError(
                f"measures must be of rankings where there are no scores; '{measure.name}' takes "
                "what each label is worth. Give scores=..., or leave it out."
            )
        if measure.k is not None and measure.k > n_labels:
            raise InputError(
                f"measures must have a k of at most {n_labels}, the number of labels; there is "
                f"'{measure.name}'."
            )
    return tuple(found)


def known_measures() -> str:
    """List the measures, for messages and help."""
    names = (*metrics.OF_SCORES, *metrics.OF_RANKINGS)
    return ", ".join(f"{name}[@K]" if _takes_k(name) else name for name in names)


def as_measure(name: Any) -> Measure:
    """Read the name of a measure, such as "regret@3"."""
    metric, at, k = str(name).partition("@")
    known = metric in (*metrics.OF_SCORES, *metrics.OF_RANKINGS)
    whole = k.isascii() and k.isdigit() and int(k) >= 1
    if not known or (at and not (whole and _takes_k(metric))):
        raise InputError(f"measures must be among {known_measures()}; {name!r} is none.")
    return Measure(metric, int(k) if at else None)


def _takes_k(metric: str) -> bool:
    return "k" in inspect.signature(getattr(metrics, metric)).parameters
