"""Links of pages to files of the repository, as they work where the repository is browsed.

A link to a file that a page shows leads to the page; one to another file to ``repository_url``, or
is text where there is none. A path in backticks of a file that a page shows is a link, too. A page
that is named by its file is named without the suffix, which it does not have here.
"""

import pathlib
from typing import Any

from docutils import nodes
from repository_pages import REPOSITORY, origin_of, page_of
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


def path_in_repository(target: str, *folders: str) -> str | None:
    """Find a file or folder that a page names, from the first of the folders that has it.

    >>> path_in_repository("../scripts", "docs"), path_in_repository("../..", "docs")
    ('scripts', None)
    """
    for folder in folders:
        path = pathlib.Path(REPOSITORY, folder, target).resolve()
        if target and path.exists() and REPOSITORY in path.parents:
            return path.relative_to(REPOSITORY).as_posix()
    return None


def _without_suffix(link: nodes.Element) -> None:
    """Show what is written as [frames.md](../frames.md) as a link that reads "frames"."""
    for text in list(link.findall(nodes.Text)):
        if text.endswith(".md") and len(link.astext().split()) == 1:
            text.parent.replace(text, nodes.Text(pathlib.PurePosixPath(text).stem))


class RepositoryLinks(SphinxTransform):
    """Resolve the links of one page that leave ``docs/``."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Replace links, and paths in backticks."""
        self.folder = str(pathlib.PurePosixPath(origin_of(self.env.docname)).parent)
        links = addnodes.pending_xref, addnodes.download_reference
        for kind in links:
            for link in list(self.document.findall(kind)):
                if link.get("reftype") == "myst":
                    _without_suffix(link)
                    self._resolve(link)
        for literal in list(self.document.findall(nodes.literal)):
            inside = isinstance(literal.parent, nodes.reference | addnodes.pending_xref)
            if literal.astext().endswith(".md") and not inside:
                self._link(literal)

    def _resolve(self, link: nodes.Element) -> None:
        target, _, anchor = link["reftarget"].partition("#")
        if link.get("refdomain") == "doc":
            if not target.startswith("/"):
                return  # it is in docs/
            # MyST takes any Markdown file for a document, without its suffix.
            target, anchor = f"{target}.md", link.get("reftargetid")
        path = path_in_repository(target, self.folder)
        if path is None:
            return  # which Sphinx reports
        page = page_of(path)
        if page is not None:
            link.replace_self(self._to_page(page, anchor or None, link.children))
        elif self.config.repository_url:
            kind = "tree" if (REPOSITORY / path).is_dir() else "blob"
            address = f"{self.config.repository_url.rstrip('/')}/{kind}/main/{path}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=address))
        else:
            link.replace_self(link.children)

    def _link(self, literal: nodes.Element) -> None:
        path = path_in_repository(literal.astext(), "", self.folder)
        page = path and page_of(path)
        if page and page != self.env.docname:
            literal.replace_self(
                self._to_page(page, None, [nodes.inline("", "", literal.deepcopy())])
            )

    def _to_page(self, page: str, anchor: str | None, children: list[Any]) -> nodes.Element:
        return addnodes.pending_xref(
            "",
            *children,
            refdoc=self.env.docname,
            refdomain="doc",
            reftype="myst",
            reftarget=page,
            reftargetid=anchor,
            refexplicit=True,
        )


def setup(app: Any) -> dict[str, bool]:
    """Register the transform and its one setting."""
    app.add_config_value("repository_url", "", "env", str)
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
