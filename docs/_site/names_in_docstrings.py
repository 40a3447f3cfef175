"""Names in docstrings: `name` in single backticks links to what has that name, if anything has.

Docstrings are written for readers of the source: they say `fit`, and not where it is. A name is
looked for in its class and module, then everywhere; the one that users type shortest is meant.
"""

import re
from typing import Any

from sphinx.util.nodes import make_refnode

# Whose methods are meant, where several classes have one of that name.
_USUAL = ("lrrf_jax.RandomForestLabelRanker.", "lrrf_jax.learners.LabelRanker.")
# Packages tell in their docstrings what their modules do; a few what their functions take.
_TOLD = {"lrrf_jax.metrics"}
# What scikit-learn gives every estimator for its own machinery, documented there.
_SCIKIT_LEARNS = re.compile(r"get_metadata_routing|set_callbacks|set_\w+_request")


def best_match(target: str, names: Any) -> str | None:
    """Choose the full name that a docstring means.

    >>> known = ["lrrf_jax.load", "lrrf_jax.datasets.load", "a.B.table", "a.C.table"]
    >>> best_match("load", known), best_match("B.table", known), best_match("table", known)
    ('lrrf_jax.load', 'a.B.table', None)
    """
    matches = sorted((n for n in names if n.endswith(f".{target}")), key=lambda n: n.count("."))
    usual = [usual + target for usual in _USUAL if usual + target in matches]
    if usual:
        return usual[0]
    if len({name.count(".") for name in matches}) < len(matches):
        return None
    return matches[0] if matches else None


def _resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    if node.get("refdomain") != "py":
        return None
    objects = env.get_domain("py").objects
    name = best_match(node["reftarget"].removesuffix("()"), objects)
    if name is not None:
        found = objects[name]
        return make_refnode(
            app.builder, node["refdoc"], found.docname, found.node_id, content, name
        )
    return content if node["reftype"] == "obj" else None  # others are reported


def _tell_of_modules(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    if what == "module" and name not in _TOLD:
        lines.clear()


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    generated = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    machinery = _SCIKIT_LEARNS.fullmatch(name) or (what == "class" and isinstance(obj, type))
    return True if generated or machinery else None


def setup(app: Any) -> dict[str, bool]:
    """Connect the events of autodoc, and make names the meaning of single backticks."""
    app.setup_extension("sphinx.ext.autodoc")
    app.config.default_role = "py:obj"
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-docstring", _tell_of_modules)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
