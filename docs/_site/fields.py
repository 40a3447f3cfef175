"""Fields of NamedTuples and dataclasses, which the source says in comments beside them."""

import dataclasses
import inspect
import re
from typing import Any

_FIELD = re.compile(r"^    ([a-z]\w*): ([^=#]+?)(?: = [^#]*?)?(?:  # (.*))?$", re.MULTILINE)


def attributes_of(source: str) -> list[str]:
    r"""Write the fields of a class as a section of its docstring.

    >>> attributes_of("class Near:\n    row: int\n    rank: NDArray  # int32 (2,)")[3:]
    ['row : int', 'rank : ndarray', '    int32 (2,)']
    """
    lines = ["", "Attributes", "----------"]
    for name, kind, comment in _FIELD.findall(source):
        lines.append(f"{name} : {kind.replace('NDArray', 'ndarray')}")
        if comment:
            lines.append(f"    {comment}")
    return lines


def _add(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "class" and (hasattr(obj, "_fields") or dataclasses.is_dataclass(obj)):
        if not any(line in ("Attributes", "Parameters") for line in lines):
            lines.extend(attributes_of(inspect.getsource(obj)))


def setup(app: Any) -> dict[str, bool]:
    """Add them before napoleon reads the sections."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _add, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
