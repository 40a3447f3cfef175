"""Axes to draw on, texts that fit, and marks that can be told apart without colour."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

DARK, MIDDLE, LIGHT = "#1a1a1a", "#7f7f7f", "#d4d4d4"
SMALLEST_FONT = 5.0


class Style(NamedTuple):
    """How one line of several is drawn: each by its dashes, its marker and its shade."""

    colour: str
    dashes: Any
    marker: str
    filled: bool


_COLOURS = ("#000000", "#0060a8", "#b03a00", "#5b5b5b")  # of falling darkness in grey
_DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 3)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")


def line_style(number: int) -> Style:
    """Return the style of a line; twelve markers in turn, filled and open."""
    return Style(
        _COLOURS[number % len(_COLOURS)],
        _DASHES[number % len(_DASHES)],
        _MARKERS[number % len(_MARKERS)],
        filled=(number // len(_MARKERS)) % 2 == 0 and number % 2 == 0,
    )


def matplotlib_pyplot() -> Any:
    """Import pyplot, or raise InputError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise InputError(
            "plots need matplotlib. Install it: pip install 'lrrf_jax[plot]'."
        ) from None
    return plt


def axes(ax: Any, size: tuple[float, float], layout: str = "constrained") -> Any:
    """Return ``ax``, or the axes of a new figure of ``size`` inches."""
    plt = matplotlib_pyplot()
    if ax is not None:
        if not hasattr(ax, "get_figure") or not hasattr(ax, "plot"):
            raise InputError(f"ax must be matplotlib Axes or None; it is {type(ax).__name__}.")
        return ax
    return plt.subplots(figsize=size, layout=layout)[1]


def figure_width(least: float) -> float:
    """Inches of a new figure: those that matplotlib is set to, or more where they are needed."""
    return max(float(matplotlib_pyplot().rcParams["figure.figsize"][0]), least)


def width_of(text: Any) -> float:
    """Width of a matplotlib text in pixels."""
    return float(text.get_window_extent().width)


def text_inches(texts: Sequence[str], points: float) -> float:
    """Estimate the width of the longest line of some texts, before there are axes."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return longest * points * 0.6 / 72


def mark(ax: Any, x: float, y: float, *, is_open: bool) -> None:
    """Mark a place; an open mark is a ring, which a filled one at the same place lies in."""
    size, face, order = (7.5, "w", 3) if is_open else (4.5, "k", 4)
    ax.plot(x, y, marker="o", color="k", markersize=size, markerfacecolor=face, zorder=order)


def shrink_to(texts: Sequence[Any], pixels: float) -> None:
    """Make the font of texts smaller until the widest of them takes ``pixels`` at most."""
    widest = max((width_of(text) for text in texts), default=0.0)
    if widest > pixels > 0:
        for text in texts:
            text.set_fontsize(max(text.get_fontsize() * pixels / widest, SMALLEST_FONT))


def shortened(text: str, length: int) -> str:
    """Cut a text in the middle where it is longer than ``length``."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def names_of(given: Any, count: int, prefix: str, argument: str) -> list[str]:
    """Return ``count`` names: those given, or the prefix with numbers from 1."""
    if given is None:
        return [f"{prefix}{number + 1}" for number in range(count)]
    names = [str(name) for name in given]
    if len(names) != count:
        raise InputError(f"{argument} must hold {count} names; it holds {len(names)}.")
    return names


def numbers_of(values: Any, argument: str, dimensions: int) -> NDArray:  # float64
    """Return values as an array of so many dimensions, or raise InputError."""
    array = as_numbers(values, argument, remedy="Give numbers.").astype(np.float64)
    if array.ndim != dimensions or 0 in array.shape:
        raise InputError(
            f"{argument} must have {dimensions} dimension{'s' * (dimensions > 1)} and not be "
            f"empty; its shape is {array.shape}."
        )
    return array
