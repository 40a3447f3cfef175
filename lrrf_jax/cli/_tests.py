"""What ``lrrf evaluate`` tells of differences between learners, as JSON can hold it."""

import dataclasses
import math
from typing import Any

from lrrf_jax.cli import _runtime


def differences_of(summary: Any, rope: float) -> list[dict[str, Any]]:
    """Compare learners with the first on every data set; says where that cannot be."""
    from lrrf_jax.evaluation.differences import differences_of

    if len(summary.learners) < 2:
        return []
    found = []
    for share in summary.shares:
        of_share, reasons = differences_of(summary, share, summary.learners[0], rope)
        for data, reason in reasons.items():
            _runtime.say(f"{data}: no difference is told: {reason}")
        found += [
            {"data": data, "missing": share, **of_data.to_dict()}
            for data, of_data in of_share.items()
        ]
    return found


def tests_of(summary: Any, rope: float) -> list[dict[str, Any]]:
    """Test learners over the data sets, for each share of deleted labels, where there are two."""
    from lrrf_jax import evaluation

    found = []
    for share in summary.shares:
        scores = summary.scores(share).complete()
        control = summary.learners[0]
        if min(scores.scores.shape) < 2 or control not in scores.methods:
            continue
        of_share = {"missing": share, "control": control, "learners": list(scores.methods)}
        against = {"control": control}
        tests: dict[str, Any] = {
            "friedman": evaluation.friedman(scores),
            "bonferroni_dunn": evaluation.bonferroni_dunn(scores, **against),
            "holm": evaluation.holm(scores, **against),
            "nemenyi": evaluation.nemenyi(scores),
            "sign_test": evaluation.bayesian_sign_test(scores, rope=rope, **against),
            "effect_sizes": evaluation.effect_sizes(scores, **against),
        }
        found.append(
            {
                **of_share,
                "datasets": list(scores.datasets),
                **{name: _plain(dataclasses.asdict(test)) for name, test in tests.items()},
            }
        )
    return found


def _plain(value: Any) -> Any:
    """Return what JSON can hold; what is no finite number is None. Names are told once, above."""
    if isinstance(value, dict):
        names = ("methods", "datasets", "control")
        return {key: _plain(own) for key, own in value.items() if key not in names}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
