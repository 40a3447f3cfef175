"""How Sphinx builds the site: ``scripts/docs.sh``, or ``sphinx-build docs OUTPUT``.

Set ``repository_url`` (here, or with ``-D repository_url=https://...``) once the repository has
a public address: what pages say of files outside ``docs/`` then links to them, and is text until
then.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent)]

from pygments.lexers.special import TextLexer  # noqa: E402

from lrrf_jax import __version__  # noqa: E402

project = "lrrf_jax"
author = "The lrrf_jax developers"
copyright = author
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
    "repository_pages",
    "repository_links",
    "names",
    "fields",
    "command_help",
]
repository_url = ""
exclude_patterns = ["_build", "_site"]
nitpicky = True
# Of Python and scikit-learn, which no page of this site describes.
nitpick_ignore_regex = [
    ("py:exc", r"[A-Z][A-Za-z]*Error|KeyboardInterrupt|SystemExit"),
    ("py:.*", r"sklearn\..*"),
]

myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are committed with what they printed and drew
nb_merge_streams = True
nb_render_markdown_format = "myst"  # tables that notebooks print

# One page per package: `reference/`. Types are said by docstrings, with shapes.
autodoc_default_options = {"members": True}
autodoc_typehints = "none"
autosummary_generate = False
smartquotes_action = "D"  # dashes; values of parameters stay quoted as they are typed
python_display_short_literal_types = True
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"lrrf_jax {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Show tables in text as they are: Pygments knows no CSV."""
    app.add_lexer("csv", TextLexer)
