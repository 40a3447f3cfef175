"""What is typed about learners and data -> estimators and tables."""

import difflib
import os
import typing
from collections.abc import Callable
from typing import Any

import typer

from lrrf_jax._validation import InputError
from lrrf_jax.cli._reading import AS_IT_IS, Reading

BUILTIN = "builtin:"
KEBI = "kebi:"
ASLIB = "aslib:"
NAMED = (BUILTIN, KEBI, ASLIB)  # what is no path of a file, and has fixed columns


def require_source(source: str) -> None:
    """Raise InputError for a table that is not there: at once, before JAX is imported."""
    from lrrf_jax import datasets
    from lrrf_jax._pipes import is_pipe
    from lrrf_jax._validation import existing_file

    if source.startswith(BUILTIN):
        if source.removeprefix(BUILTIN) not in datasets.builtin_names():
            datasets.load(source.removeprefix(BUILTIN))  # which says what there is
    elif source.startswith(KEBI):
        if source.removeprefix(KEBI) not in datasets.kebi_names():
            datasets.fetch_kebi(source.removeprefix(KEBI))
    elif source.startswith(ASLIB):
        existing_file(os.path.join(source.removeprefix(ASLIB), "description.txt"))
    elif not is_pipe(source):
        existing_file(source)


def read_data(source: str, reading: Reading) -> Any:  # LabelRankingData
    """Read a file or ``aslib:FOLDER``, load ``builtin:NAME``, or fetch ``kebi:NAME``."""
    from lrrf_jax import datasets
    from lrrf_jax._pipes import is_pipe
    from lrrf_jax.datasets._text_columns import require_text_columns

    if not source.startswith(NAMED):
        arguments = reading.arguments()
        if not is_pipe(source):
            how = {name: value for name, value in arguments.items() if name != "format"}
            require_text_columns(source, **how)  # before NumPy and pyarrow are imported
        return datasets.read(source, **arguments)
    if reading._replace(missing_values=None) != AS_IT_IS:
        raise typer.BadParameter(
            f"{source} has fixed columns. Leave --features, --labels, --ranking, --convention, "
            "--close-gaps, --exclude, --label-names, --scores, --lower-is-better, --fold-column, "
            "--group-column, --categories, --delimiter, --decimal, --encoding and --input-format "
            "out."
        )
    if source.startswith(ASLIB):
        return datasets.read_aslib(source.removeprefix(ASLIB))
    if source.startswith(KEBI):
        return datasets.fetch_kebi(source.removeprefix(KEBI))
    return datasets.load(source.removeprefix(BUILTIN))


def select_features(source: str, data: Any, names: list[str] | None) -> Any:  # LabelRankingData
    """Put the features in the order of the model, by name where it has names."""
    if names is None:
        return data
    at = {name: column for column, name in enumerate(data.feature_names)}
    lacking = [name for name in names if name not in at]
    if lacking:
        raise InputError(
            f"{source}: {len(lacking)} of the {len(names)} features of the model are not there: "
            f"{', '.join(map(repr, lacking[:10]))}. Rename the columns."
        )
    columns = [at[name] for name in names]
    X = data.X.select(columns) if hasattr(data.X, "select") else data.X[:, columns]  # a table
    return data._replace(X=X, feature_names=tuple(names))


def levels_of(table: Any) -> dict[str, list[str]]:
    """List what the features that are categories hold: they are dictionaries of an Arrow table."""
    if not hasattr(table.X, "column"):
        return {}
    found = {}
    for name in table.X.column_names:
        column = table.X.column(name)
        if hasattr(column.type, "value_type"):
            found[name] = sorted(
                column.cast(column.type.value_type).unique().drop_null().to_pylist()
            )
    return found


def learner_names(text: str) -> list[str]:
    """Split ``lr-rf,default`` into known names."""
    from lrrf_jax import LEARNERS

    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in LEARNERS]
    if unknown or not names:
        raise typer.BadParameter(
            LEARNERS.no_learner((unknown or [text])[0]), param_hint="--learner"
        )
    return names


def make_learners(
    names: list[str],
    settings: list[str] | None,
    make: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """Make estimators; each takes the settings that it has a parameter for.

    ``make`` makes the one of a name, by default with its default parameters. Raises a usage error
    where no learner has the parameter, or the value has another type.
    """
    from lrrf_jax import LEARNERS

    learners = {name: LEARNERS[name]() if make is None else make(name) for name in names}
    known = {key: None for learner in learners.values() for key in learner.get_params()}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals or key not in known:
            listed = ", ".join(sorted(known)) or "none"
            close = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
            listed += f". Close to it: {close[0]}" if close and equals else ""
            why = f"there is no parameter {key!r}" if equals else f"{setting!r} lacks a '='"
            raise typer.BadParameter(
                f"{why}. Write KEY=VALUE with one of the parameters of {', '.join(names)}: "
                f"{listed}.",
                param_hint="--set",
            )
        for learner in learners.values():
            if key in learner.get_params():
                learner.set_params(**{key: _value(type(learner), key, text)})
    return learners


def _value(learner: type, key: str, text: str) -> Any:
    """Read a value as the constructor annotates the parameter; what it may be if that is Any."""
    annotation = typing.get_type_hints(learner.__init__).get(key, Any)  # type: ignore[misc]
    wanted = set(typing.get_args(annotation) or [annotation])
    accepted = {type(None), bool, int, float, str} if Any in wanted else wanted
    readings: list[tuple[Any, Any]] = [
        (type(None), lambda: {"none": None, "null": None}[text.lower()]),
        (bool, lambda: {"true": True, "false": False}[text.lower()]),
        (int, lambda: int(text)),
        (float, lambda: float(text)),
        (list[Any], lambda: [name.strip() for name in text.split(",") if name.strip()]),
        (str, lambda: text),
    ]
    for kind, read in readings:
        if kind in accepted:
            try:
                return read()
            except (KeyError, ValueError):
                continue
    kinds = " or ".join(sorted(_KIND_NAMES.get(kind, str(kind)) for kind in accepted))
    raise typer.BadParameter(f"{key} must be {kinds}; it is {text!r}.", param_hint="--set")


_KIND_NAMES = {
    type(None): "none",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list[Any]: "names with commas between them",
}
