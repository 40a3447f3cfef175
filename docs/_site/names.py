"""Names in backticks: a public name links to its description, in docstrings and in pages.

Docstrings are written for readers of the source: they say `fit`, and not where it is. A name is
looked for in its class and module, then everywhere; the one that users type shortest is meant.
Pages use words, too, so that only what can be meant by nothing else is a link in them.
"""

import re
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

# Whose methods are meant, where several classes have one of that name.
_USUAL = ("lrrf_jax.RandomForestLabelRanker.", "lrrf_jax.learners.LabelRanker.")
# Packages tell in their docstrings what their modules do; a few what their functions take.
_TOLD = {"lrrf_jax.metrics"}
# What scikit-learn gives every estimator for its own machinery, documented there.
_SCIKIT_LEARNS = re.compile(r"get_metadata_routing|set_callbacks|set_\w+_request")
_NOT_IN_PAGES = ".benchmarks."  # whose functions, such as `measure`, are words
_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)*(\((?![^()]* = )[^()]*\))?")  # or a call, not R's


def best_match(target: str, kinds: Mapping[str, str], *, in_page: bool = False) -> str | None:
    """Choose the full name that is meant, from full names and their kinds.

    >>> known = dict.fromkeys(["lrrf_jax.load", "lrrf_jax.datasets.load", "a.holm"], "function")
    >>> known |= {"a.B.table": "method", "a.C.table": "method"}
    >>> best_match("load", known), best_match("B.table", known), best_match("table", known)
    ('lrrf_jax.load', 'a.B.table', None)
    >>> best_match("load", known, in_page=True), best_match("holm(table)", known, in_page=True)
    (None, 'a.holm')
    """
    target, called, _ = target.partition("(")
    matches = sorted(
        (name for name in kinds if name == target or name.endswith(f".{target}")),
        key=lambda name: name.count("."),
    )
    usual = [usual + target for usual in _USUAL if usual + target in matches]
    if in_page:
        # A word such as `fit` or `table` is often one, and no name.
        words = {"method", "property", "attribute"} | ({"module"} if "." not in target else set())
        known = [name for name in matches if kinds[name] not in words and _NOT_IN_PAGES not in name]
        usual = usual if called or "_" in target else []
        return (usual + known)[0] if len(known) == 1 or usual else None
    if usual:
        return usual[0]
    if len({name.count(".") for name in matches}) < len(matches):
        return None
    return matches[0] if matches else None


class NamesInPages(SphinxTransform):
    """Make what is in backticks in a page a reference that need not be one."""

    default_priority = 510  # after RepositoryLinks, which knows paths

    def apply(self, **_: Any) -> None:
        """Wrap every name, but those in headings, links, and docstrings, whose roles say more."""
        kept = nodes.title, nodes.reference, addnodes.pending_xref, addnodes.desc
        for literal in list(self.document.findall(nodes.literal)):
            above, inside = literal.parent, False
            while above is not None and not inside:
                above, inside = above.parent, isinstance(above, kept)
            if not inside and not literal["classes"] and _NAME.fullmatch(literal.astext()):
                literal.replace_self(
                    addnodes.pending_xref(
                        "",
                        literal.deepcopy(),
                        refdomain="py",
                        reftype="obj",
                        reftarget=literal.astext(),
                        refdoc=self.env.docname,
                        of_page=True,
                    )
                )


_kinds: dict[str, str] = {}  # of every full name, when all pages are read


def _collect(app: Any, env: Any) -> None:
    _kinds.clear()
    _kinds.update((n, found.objtype) for n, found in env.get_domain("py").objects.items())


def _resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    if node.get("refdomain") != "py":
        return None
    objects = env.get_domain("py").objects
    name = best_match(node["reftarget"], _kinds, in_page=bool(node.get("of_page")))
    if name is not None:
        found = objects[name]
        return make_refnode(
            app.builder, node["refdoc"], found.docname, found.node_id, content, name
        )
    return content if node["reftype"] == "obj" else None  # others are reported


def _mend(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "module" and name not in _TOLD:
        lines.clear()
    # Of a property napoleon takes what stands before the first colon for its type.
    taken = [line for line in lines if line.startswith(":type: ")]
    if what in ("property", "attribute") and taken:
        lines.remove(taken[0])
        lines[0] = f"{taken[0].removeprefix(':type: ')}: {lines[0]}"


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    generated = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    machinery = _SCIKIT_LEARNS.fullmatch(name) or (what == "class" and isinstance(obj, type))
    return True if generated or machinery else None


def setup(app: Any) -> dict[str, bool]:
    """Connect the events of autodoc, and make names the meaning of single backticks."""
    app.setup_extension("sphinx.ext.autodoc")
    app.config.default_role = "py:obj"
    app.add_transform(NamesInPages)
    app.connect("env-check-consistency", _collect)
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-docstring", _mend, priority=600)  # after napoleon
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
