"""``lrrf doctor``."""

from typing import Any

import typer

from lrrf_jax.cli import _options


def doctor(json: _options.AsJson = False) -> None:
    """Look at this installation, and try it: versions, devices, threads, kept programs.

    \b
    Examples:
      lrrf doctor
      lrrf doctor --json > doctor.json

    It fits a forest to a few rows in a process of its own, so that a JAX which crashes or hangs is
    told, too. The exit code is 0 where all is well, and 1 where there are problems, each of which
    is told with a way out.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax.cli import _doctor, _runtime
    from lrrf_jax.cli._tables import show_facts

    report = _doctor.Report()
    for section, report in _doctor.examine():
        facts = {f"  {name}": _worded(value) for name, value in report.sections[section].items()}
        if not json:
            show_facts(facts or {"  none": ""}, title=section)
    if json:
        document = {"well": not report.problems, "problems": report.problems, "notes": report.notes}
        _runtime.print_json(document | report.sections)
    else:
        lines = [f"note: {text}" for text in report.notes]
        lines += [f"problem: {text}" for text in report.problems] or ["all is well"]
        _runtime.show("\n".join(lines))
    if report.problems:
        raise typer.Exit(1)


def _worded(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
