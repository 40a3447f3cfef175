"""Constructors from class bodies: what users may set is stated once, with its documentation.

A learner lists its parameters as a dataclass does, and documents them in its docstring, without
their defaults. It gets a constructor that takes these and the parameters of its bases, and a
docstring that documents all of them. Another default than that of a base is one line.
"""

import dataclasses
import inspect
import json
import re
import typing
from typing import Any, ClassVar

_INHERITED = ("Parameters", "Attributes")  # sections of docstrings whose entries go to subclasses
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


@typing.dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,)
)
class Parametrised:
    """A base whose subclasses get a constructor and the documentation of its parameters.

    Parameters are keywords, but for ``dataclasses.field(default=..., kw_only=False)``. Those of a
    class itself come first, then those of its bases, the nearest first.
    """

    _documented: ClassVar[dict[str, dict[str, str]]] = {}  # section -> name -> entry

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        sections = _sections(inspect.cleandoc(vars(cls).get("__doc__") or ""))
        cls._documented = {title: _entries(sections.pop(title, "")) for title in _INHERITED}
        generated = "__init__" not in vars(cls)
        dataclasses.dataclass(eq=False, repr=False, kw_only=True)(cls)
        known = {title: _known_entries(cls, title) for title in _INHERITED}
        signature = inspect.signature(cls.__init__)
        if generated:
            signature = _in_order(signature, list(known["Parameters"]))
            vars(cls)["__init__"].__signature__ = signature
        known["Parameters"] = {
            name: _with_default(known["Parameters"][name], parameter.default)
            for name, parameter in signature.parameters.items()
            if name in known["Parameters"]
        }
        lead = sections.pop("")
        merged = {title: "\n".join(entries.values()) for title, entries in known.items()}
        parts = [
            f"{title}\n{'-' * len(title)}\n{body}"
            for title, body in (merged | sections).items()
            if body
        ]
        cls.__doc__ = "\n\n".join(filter(None, [lead, *parts])) + "\n"


def _sections(doc: str) -> dict[str, str]:
    """Cut a docstring at its headings; what stands before the first is section ``""``."""
    lead, *rest = _SECTION.split(doc)
    bodies = [body.strip() for body in rest[1::2]]
    return {"": lead.strip(), **dict(zip(rest[::2], bodies, strict=True))}


def _entries(section: str) -> dict[str, str]:
    """Cut a section into entries, by name."""
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {re.split(r" : |\n", entry, maxsplit=1)[0]: entry for entry in entries}


def _known_entries(cls: type, title: str) -> dict[str, str]:
    """Collect the entries of a class and its bases, the nearest first."""
    known: dict[str, str] = {}
    for base in cls.__mro__:
        for name, entry in vars(base).get("_documented", {}).get(title, {}).items():
            known.setdefault(name, entry)
    return known


def _in_order(signature: inspect.Signature, names: list[str]) -> inspect.Signature:
    """Sort the parameters by their names, after ``self`` and among those of a kind."""

    def place(parameter: inspect.Parameter) -> tuple[int, int]:
        known = parameter.name in names
        return parameter.kind, names.index(parameter.name) if known else len(names)

    first, *others = signature.parameters.values()
    return signature.replace(parameters=[first, *sorted(others, key=place)])


def _with_default(entry: str, default: Any) -> str:
    """Add the default to the first line of an entry, which names the type."""
    head, newline, text = entry.partition("\n")
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    return f"{head}, default {shown}{newline}{text}"
