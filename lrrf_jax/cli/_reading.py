"""The options that say how a table with rankings is read, of every command that reads one."""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from lrrf_jax.cli import _options


class Reading(NamedTuple):
    """What is typed about the columns of a table with rankings."""

    labels: _options.Labels = None
    features: _options.Features = None
    ranking: _options.Ranking = None
    convention: _options.HowToRead = _options.Convention.positions
    close_gaps: _options.CloseGaps = False
    exclude: _options.Exclude = None
    categories: _options.Categories = None
    missing_values: _options.MissingValues = None
    delimiter: _options.Delimiter = None
    decimal: _options.Decimal = None
    encoding: _options.Encoding = None
    label_names: _options.LabelNames = None
    input_format: _options.InputFormat = None
    scores: _options.Scores = None
    lower_is_better: _options.LowerIsBetter = False
    fold_column: _options.FoldColumn = None
    group_column: _options.GroupColumn = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `datasets.read` that were typed."""
        typed = {name: value for name, value in self._asdict().items() if value is not None}
        names = typed.get("label_names", ())
        if len(names) == 1:  # one text is split at commas; repeated options are whole names
            typed["label_names"] = names[0]
        for option, argument in (("missing_values", "missing"), ("input_format", "format")):
            if option in typed:
                typed[argument] = typed.pop(option)
        return typed


AS_IT_IS = Reading()


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading` where it has the parameter ``reading``."""
    hints = typing.get_type_hints(Reading, include_extras=True)
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=Reading._field_defaults[name],
            annotation=hints[name],
        )
        for name in Reading._fields
    ]
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += options if parameter.name == "reading" else [own]

    @functools.wraps(command)
    def with_options(**typed: Any) -> None:
        fields = {name: typed.pop(name) for name in Reading._fields}
        fields["label_names"] = fields["label_names"] or None  # an empty list where it is not given
        command(reading=Reading(**fields), **typed)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options
