"""``lrrf datasets``: what there is, fetched and described."""

from typing import Annotated, Any

import typer

from lrrf_jax.cli import _options
from lrrf_jax.cli._command import Command
from lrrf_jax.cli._reading import AS_IT_IS, Reading, takes_reading

app: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Directory = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the KEBI sets are.  [default: $LRRF_DATA, or a cache folder]",
    ),
]
_MADE_BY = {
    "A": "a classification set, ranked by naive Bayes",
    "B": "a regression set, attributes ranked by their size",
}


@app.callback()
def datasets() -> None:
    """List, fetch and describe label ranking data sets.

    \b
    Examples:
      lrrf datasets list
      lrrf datasets fetch iris wine
      lrrf datasets describe kebi:iris
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)


@app.command("list", cls=Command)
def list_(directory: Directory = None, json: _options.AsJson = False) -> None:
    """List the data sets, those that are built in and the KEBI sets.

    \b
    Example:
      lrrf datasets list

    What is listed can be given to the other commands, as in lrrf evaluate kebi:iris.
    """  # noqa: D301
    from lrrf_jax.cli import _runtime
    from lrrf_jax.cli._tables import show_table
    from lrrf_jax.datasets import builtin_names, load
    from lrrf_jax.datasets._kebi_registry import kebi_sets
    from lrrf_jax.datasets.kebi import kebi_directory, local_copy

    entries: list[dict[str, Any]] = []
    for name in builtin_names():
        data = load(name)
        shape = {"rows": len(data.X), "features": data.X.shape[1], "labels": data.y.shape[1]}
        entries.append({"data": f"builtin:{name}", **shape, "here": True})
    folder = kebi_directory(directory)
    for name, known in kebi_sets().items():
        shape = {"rows": known.rows, "features": known.features, "labels": known.labels}
        here = local_copy(name, folder) is not None
        entries.append({"data": f"kebi:{name}", **shape, "here": here})
    if json:
        _runtime.print_json({"directory": folder, "datasets": entries})
        return
    rows = [{**entry, "here": "yes" if entry["here"] else "no"} for entry in entries]
    show_table(list(rows[0]), [[str(value) for value in entry.values()] for entry in rows])


@app.command(cls=Command)
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="KEBI sets, such as iris.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All sixteen sets.")] = False,
    directory: Directory = None,
    url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Download from here, {name} stands for the name. May be repeated.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Download again what is there already.")
    ] = False,
    json: _options.AsJson = False,
) -> None:
    """Download KEBI sets, and check what they say.

    \b
    Examples:
      lrrf datasets fetch iris wine
      lrrf datasets fetch --all --directory data

    A set that is there already is checked only. Of several sets the good ones are fetched even if
    others fail; the exit code is then 5.
    """  # noqa: D301
    from lrrf_jax.cli import _runtime
    from lrrf_jax.datasets import fetch_kebi, kebi_names
    from lrrf_jax.datasets.kebi import kebi_directory, local_copy

    wanted = list(kebi_names()) if all_ else [name.removeprefix("kebi:") for name in names or []]
    if not wanted or (all_ and names):
        raise typer.BadParameter("name the sets, or say --all.", param_hint="NAME")
    folder = kebi_directory(directory)
    failures = _runtime.Failures()
    fetched: list[dict[str, str | None]] = []
    with _runtime.progress(len(wanted), "sets") as bar:
        for name in wanted:
            with failures.caught(name, len(wanted)):
                fetch_kebi(name, directory=folder, urls=url, force=force)
                fetched.append({"data": f"kebi:{name}", "path": local_copy(name, folder)})
                if not json:
                    _runtime.show(f"kebi:{name}  {fetched[-1]['path']}")
            bar.update(1)
    if json:
        failed = [{"data": f"kebi:{n}", "error": text} for n, text in failures.messages.items()]
        _runtime.print_json({"directory": folder, "fetched": fetched, "failed": failed})
    failures.end(len(wanted))


@app.command(cls=Command)
@takes_reading
def describe(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="builtin:NAME, kebi:NAME, aslib:FOLDER, or a file."),
    ],
    directory: Directory = None,
    reading: Reading = AS_IT_IS,
    json: _options.AsJson = False,
) -> None:
    """Describe the features and rankings of a data set.

    \b
    Examples:
      lrrf datasets describe builtin:iris
      lrrf datasets describe kebi:vowel --json
      lrrf datasets describe table.csv --labels 'bus,train,bike' --exclude id

    A KEBI set that is not there is downloaded. Files are read as lrrf train reads them.
    """  # noqa: D301
    from lrrf_jax.cli import _learners, _runtime
    from lrrf_jax.cli._tables import show_facts

    _learners.require_source(data)

    from lrrf_jax.datasets import fetch_kebi
    from lrrf_jax.datasets._kebi_registry import kebi_sets

    name = data.removeprefix(_learners.KEBI)
    is_kebi = data.startswith(_learners.KEBI)
    if is_kebi and reading == AS_IT_IS:
        table = fetch_kebi(name, directory=directory)
    else:
        table = _learners.read_data(data, reading)
    facts = {"data": data, **_facts(table)}
    if is_kebi:
        facts["made_by"] = _MADE_BY[kebi_sets()[name].type]
    if json:
        _runtime.print_json(facts)
        return
    show_facts({f"{key.replace('_', ' ')}:": _listed(value) for key, value in facts.items()})


def _listed(value: Any) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _facts(table: Any) -> dict[str, Any]:
    """Count what a reader wants to know before fitting anything."""
    import numpy as np

    from lrrf_jax.rankings.statistics import ranking_classes
    from lrrf_jax.rankings.ties import rows_with_ties

    known = ~np.isnan(table.y)
    positions = np.where(known, table.y, 0).sum(0) / np.maximum(known.sum(0), 1)
    best = np.where(known, table.y, np.inf).min(1, keepdims=True)
    apart = {
        name: len(set(column.tolist()))
        for name, column in (("groups", table.groups), ("folds", table.folds))
        if column is not None
    }
    weight = {} if table.sample_weight is None else {"weight": float(table.sample_weight.sum())}
    return {
        "rows": len(table.X),
        **weight,
        "features": table.X.shape[1],
        "labels": table.y.shape[1],
        **apart,
        "feature_names": list(table.feature_names),
        "label_names": list(table.labels),
        **_counted_levels(table),
        "ignored": list(table.ignored),
        "distinct_rankings": int(ranking_classes(table.y)[1]),
        "incomplete_rankings": int((~known).any(1).sum()),
        "rankings_with_ties": int(rows_with_ties(table.y).sum()),
        "missing_labels": int((~known).sum()),
        "missing_features": _missing_cells(table.X),
        "mean_positions": [round(float(mean), 3) for mean in positions],
        "rows_with_label_first": (table.y == best).sum(0).tolist(),
    }


def _counted_levels(table: Any) -> dict[str, list[str]]:
    from lrrf_jax.cli._learners import levels_of

    counts = [f"{name} ({len(known)} levels)" for name, known in levels_of(table).items()]
    return {"categories": counts} if counts else {}


def _missing_cells(X: Any) -> int:
    """Count the empty cells of an array, or of a table where some features are categories."""
    import numpy as np

    if isinstance(X, np.ndarray):
        return int(np.isnan(X).sum())
    return sum(
        column.null_count
        if hasattr(column.type, "value_type")
        else int(np.isnan(column.to_numpy()).sum())
        for column in X.columns
    )
