"""Figures of a page: legible on a phone, turned for a dark screen, apart from each other."""

import functools
import itertools
import pathlib
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lrrf_jax.evaluation import bonferroni_dunn, nemenyi, published_table
from lrrf_jax.plotting import plot_critical_difference, plot_curves, plot_spread
from lrrf_jax.reports import figures

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

STYLE = pathlib.Path(figures.__file__).parent / "templates/style.css"
PHONE = 390 - 2 * 16  # pixels, less the padding of the page
RNG = np.random.default_rng(0)
LEARNERS = ["default", "rpc", "cc", "ll", "ib-m", "ib-pl", "lrt", "lrt-bag", "w-lrt-bag"]
LEARNERS += ["f-lrt-bag", "lrf-rt", "lrf-ert", "lw-rf", "pw-rf", "lr-rf"]
FIGURES = {
    "control": functools.partial(
        plot_critical_difference, bonferroni_dunn(published_table(4), control="LR-RF"), rows=True
    ),
    "pairs": functools.partial(plot_critical_difference, nemenyi(published_table(4)), rows=True),
    "all learners": functools.partial(
        *(plot_critical_difference, np.linspace(1, 15, 15), 4.2),
        **{"methods": LEARNERS, "control": "w-lrt-bag", "rows": True},
    ),
    "spread": functools.partial(plot_spread, {name: RNG.random(50) for name in LEARNERS}),
    "curves": functools.partial(
        *(plot_curves, [0, 0.3, 0.6], {name: RNG.random((3, 5)) for name in LEARNERS}),
        band="range",
        xlabel="share of the training labels deleted",
    ),
}


@functools.cache
def drawn(name):
    return str(figures.svg(itertools.count(1), FIGURES[name], "Told in words & numbers."))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_fifteen_learners_fits_a_phone_with_letters_of_twelve_pixels(name):
    root = ET.fromstring(drawn(name))
    width = float(root.attrib["viewBox"].split()[2])
    shown = 16 * float(root.attrib["width"].removesuffix("em"))  # pixels, where 1em is 16
    assert shown <= PHONE
    sizes = [
        float(e.attrib["font-size"].removesuffix("px")) for e in root.iter() if e.tag == "text"
    ]
    assert len(sizes) > 4
    assert min(sizes) * shown / width >= 12 - 1e-3


def test_a_name_that_does_not_fit_makes_a_figure_wider_and_not_smaller():
    names = ["a", "a learner with quite a long name, number 1"]
    draw = functools.partial(plot_critical_difference, [1.2, 1.8], 0.5, methods=names, rows=True)
    root = ET.fromstring(str(figures.svg(itertools.count(1), draw, "x" * 30)))
    shown = 16 * float(root.attrib["width"].removesuffix("em"))
    assert shown > PHONE  # and can be scrolled
    assert shown / float(root.attrib["viewBox"].split()[2]) == pytest.approx(16 / 12, abs=1e-3)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_plain_elements_without_styles_and_says_what_it_shows(name):
    text = drawn(name)
    root = ET.fromstring(text)
    tags = {element.tag for element in root.iter()}
    assert tags <= {"svg", "g", "path", "text", "defs", "clipPath", "rect", "use", "pattern"}
    assert not any("style" in element.attrib for element in root.iter())
    assert root.attrib["aria-label"] == "Told in words & numbers."
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("figure-1-") for name in ids)
    assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', text)) == set(ids)
    words = " ".join(element.text for element in root.iter("text"))
    for shown in LEARNERS if name not in ("control", "pairs") else ("LR-RF", "W-LRT+bag"):
        assert shown in words


def test_figures_on_one_page_do_not_share_names():
    numbers = itertools.count(1)
    both = [str(figures.svg(numbers, FIGURES["control"], "x" * 30)) for _ in range(2)]
    ids = [set(re.findall(r' id="([\w-]+)"', text)) for text in both]
    assert ids[0]
    assert not ids[0] & ids[1]


# Colours


def luminance(colour):
    """Relative luminance of WCAG 2."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palettes():
    """Variables of the light and the dark page, and what becomes of the colours of figures."""
    style = STYLE.read_text(encoding="utf-8")
    light, dark = style.split("prefers-color-scheme: dark", 1)
    variables = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in (light, dark)]
    turned = re.findall(r'figure \[(\w+)="(#\w{6})"\] \{ (\w+): (#\w{6}); \}', dark)
    assert all(selected == changed for selected, _, changed, _ in turned)
    return *variables, {(what, before): after for what, before, _, after in turned}


def test_contrast_is_measured_as_wcag_does():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("number", [0, 1])
def test_text_and_links_can_be_read_on_light_and_on_dark(number):
    variables = palettes()[number]
    assert set(variables) == {"page", "ink", "soft", "line", "shade", "link", "bad"}
    for name in ("ink", "soft", "link"):
        for behind in ("page", "shade"):
            assert contrast(variables[name], variables[behind]) >= 4.5
    assert contrast(variables["bad"], variables["page"]) >= 3


@pytest.mark.parametrize("name", FIGURES)
def test_every_colour_of_a_figure_is_turned_and_stays_as_far_from_the_page(name):
    light, dark, turned = palettes()
    found = set(re.findall(r'(fill|stroke)="(#\w+)"', drawn(name)))
    assert found
    assert found <= set(turned)
    for key in found:
        before = contrast(key[1], light["page"])
        after = contrast(turned[key], dark["page"])
        if before >= 3:  # lines and marks
            assert after >= 3
        else:  # what lies behind them
            assert after < 4.5
    assert turned["fill", "#ffffff"] == dark["page"]  # of open marks


@pytest.mark.parametrize("name", FIGURES)
def test_marks_have_their_colours_where_they_are_used(name):
    """A browser copies a mark to its places apart from the page, whose style does not reach it."""
    root = ET.fromstring(drawn(name))
    marks = {e.attrib["id"] for e in root.iter("path") if "id" in e.attrib}
    places = list(root.iter("use"))
    assert {place.attrib["href"].removeprefix("#") for place in places} == marks
    assert places
    for mark in root.iter("path"):
        assert "id" not in mark.attrib or not mark.attrib.keys() & {"fill", "stroke"}
    assert all(place.attrib.keys() & {"fill", "stroke", "fill-opacity"} for place in places)


def test_letters_can_be_read_within_the_band_of_the_control():
    _, dark, turned = palettes()
    assert contrast("#1a1a1a", "#d4d4d4") >= 4.5
    assert contrast(dark["ink"], turned["fill", "#d4d4d4"]) >= 4.5
