"""Figures of a page, as images that it carries itself."""

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any

from lrrf_jax._validation import InputError

# Glyphs as outlines: the page looks alike where the font is lacking. Names with two dollar signs
# are no formulas. Equal figures are equal bytes.
_SETTINGS: Any = {
    "svg.fonttype": "path",
    "svg.hashsalt": "lrrf_jax",
    "text.parse_math": False,
    "text.usetex": False,
    "savefig.bbox": "standard",
}


def can_draw() -> bool:
    """Tell whether matplotlib is there."""
    from lrrf_jax.plotting._canvas import matplotlib_pyplot

    try:
        matplotlib_pyplot()
    except InputError:
        return False
    return True


def svg_uri(draw: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Draw with a function of `lrrf_jax.plotting`, and return a data URI.

    An image keeps the names within a figure apart from those of the page and of other figures.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    image = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Of a name in a script that the font lacks; the tables have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = draw(*arguments, **options).figure
        try:
            figure.savefig(image, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            plt.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(image.getvalue()).decode()
