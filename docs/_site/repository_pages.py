"""Pages that lie outside ``docs/``: Sphinx reads copies, which git ignores."""

import pathlib
import shutil
from typing import Any

DOCS = pathlib.Path(__file__).parents[1]
REPOSITORY = DOCS.parent
COPIED = {
    "project/changelog.md": "CHANGELOG.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/measurements.md": "benchmarks/README.md",
    "project/security.md": "SECURITY.md",
    **{
        f"notebooks/{book.name}": f"notebooks/{book.name}"
        for book in REPOSITORY.glob("notebooks/*.ipynb")
    },
}
_SHOWN_AS = {"README.md": "index", "notebooks": "notebooks/index"}


def origin_of(docname: str) -> str:
    """Tell where in the repository a page is written.

    >>> origin_of("project/security"), origin_of("how-to/serve")
    ('SECURITY.md', 'docs/how-to/serve.md')
    """
    for copy, origin in COPIED.items():
        if copy.rpartition(".")[0] == docname:
            return origin
    return f"docs/{docname}.md"


def page_of(path: str) -> str | None:
    """Tell which page shows a file of the repository, or None.

    >>> page_of("SECURITY.md"), page_of("docs/gpu.md"), page_of("scripts/docs.sh")
    ('project/security', 'gpu', None)
    """
    for copy, origin in COPIED.items():
        if origin == path:
            return copy.rpartition(".")[0]
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/").removesuffix(".md")
    return _SHOWN_AS.get(path)


def _copy(app: Any, config: Any) -> None:
    for folder in {(DOCS / copy).parent for copy in COPIED}:
        folder.mkdir(exist_ok=True)
    for copy, origin in COPIED.items():
        shutil.copy2(REPOSITORY / origin, DOCS / copy)


def setup(app: Any) -> dict[str, bool]:
    """Copy before anything is read."""
    app.connect("config-inited", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
