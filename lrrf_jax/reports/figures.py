"""Figures of a page: drawn by `lrrf_jax.plotting`, made part of the page's own HTML.

A figure is as wide as the text of a narrow page, and its letters as large as that text; its
colours are plain attributes, which the style of the page turns for a dark screen.
"""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

import markupsafe

from lrrf_jax._validation import InputError

_WIDTH = 3.55  # inches: what is left of 390 pixels beside the margins
_POINTS_PER_EM = 12.0  # 16 pixels, the text of a page
# Letters are text: sharp, found by a search, and small. Names with two dollar signs are no
# formulas. Equal figures are equal bytes.
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lrrf_jax",
    "text.parse_math": False,
    "text.usetex": False,
    "savefig.bbox": "standard",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "figure.figsize": (_WIDTH, 2.6),
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 10,
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_KNOWN = {
    _SVG + name
    for name in ("g", "path", "text", "tspan", "defs", "clipPath", "rect", "use", "pattern")
}
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+px)")
_DIGITS = re.compile(r"(\.\d\d)\d+")  # hundredths of a point are enough
_LEADS_TO = re.compile(r"(?P<before>#|url\(#)(?P<name>[\w-]+)\)?")


def can_draw() -> bool:
    """Tell whether matplotlib is there."""
    from lrrf_jax.plotting._canvas import matplotlib_pyplot

    try:
        matplotlib_pyplot()
    except InputError:
        return False
    return True


def svg(numbers: Iterator[int], draw: Callable[[], Any], description: str) -> markupsafe.Markup:
    """Draw with a function of `lrrf_jax.plotting`, and return an element of HTML.

    The next of ``numbers`` keeps its parts apart from those of other figures.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    image = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Of a name in a script that the font lacks; the reader's has it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = draw().figure
        try:
            figure.savefig(image, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            plt.close(figure)
    return _inline(ET.fromstring(image.getvalue()), f"figure-{next(numbers)}-", description)


def _inline(root: ET.Element, prefix: str, description: str) -> markupsafe.Markup:
    """Make an element of a page: sized in letters, described, without styles and foreign names."""
    _as_plain_elements(root)
    _move_colours(root)
    _rename(root, prefix)
    box = root.attrib["viewBox"]
    width, height = (float(size) / _POINTS_PER_EM for size in box.split()[2:])
    root.attrib.clear()
    root.attrib |= {
        "viewBox": box,
        "width": f"{width:.3f}em",
        "height": f"{height:.3f}em",
        "role": "img",
        "aria-label": description,
        "fill": "currentColor",  # of letters, whose colour matplotlib leaves out where it is black
        "font-family": "DejaVu Sans, Verdana, sans-serif",  # whose widths the places go by
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    return markupsafe.Markup(ET.tostring(root, encoding="unicode"))


def _as_plain_elements(root: ET.Element) -> None:
    """Take away metadata and the style sheet, and make attributes of styles."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag not in _KNOWN:
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if element.tag != "text":
            element.text = None
        element.tail = None
        for name, value in _presentation(element.attrib.pop("style", "")):
            element.set(name, value)
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        for name in element.attrib.keys() & {"d", "x", "y"}:
            element.set(name, _DIGITS.sub(r"\1", " ".join(element.attrib[name].split())))


def _move_colours(root: ET.Element) -> None:
    """Give the colours of a mark to the places that use it: a page's style reaches no copies."""
    marks = {
        element.attrib["id"]: element for element in root.iter("path") if "id" in element.attrib
    }
    for place in root.iter("use"):
        mark = marks[place.attrib["href"].removeprefix("#")]
        for name in mark.attrib.keys() & {"fill", "stroke"}:
            place.attrib.setdefault(name, mark.attrib[name])
    for mark in marks.values():
        for name in ("fill", "stroke"):
            mark.attrib.pop(name, None)


def _rename(root: ET.Element, prefix: str) -> None:
    """Put a prefix before names that something leads to, and drop the others."""
    own = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
    led_to = set()
    for element in root.iter():
        for key, value in element.items():
            link = _LEADS_TO.fullmatch(value)
            if link and link["name"] in own:
                led_to.add(link["name"])
                element.set(key, f"{link['before']}{prefix}{value.removeprefix(link['before'])}")
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if name in led_to:
            element.set("id", prefix + name)


def _presentation(style: str) -> Iterator[tuple[str, str]]:
    """Give the declarations of a style as attributes; the font is that of the whole figure."""
    for declaration in filter(None, map(str.strip, style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (font := _FONT.match(value)):
            yield "font-size", font["size"]
            if font["weight"]:
                yield "font-weight", font["weight"]
        elif name != "font-family":
            yield name, value
