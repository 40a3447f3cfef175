"""The site of docs/ builds without a warning, and what a reader looks for is on its pages."""

import importlib
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import filelock
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS
from tests.site_pages import read_site

ROOT = pathlib.Path(__file__).parents[1]
TASKS = [
    *("own-table", "partial-rankings", "choose-a-learner", "compare-learners", "many-rows"),
    *("many-machines", "gpu", "serve", "explain"),
]


def sphinx(source, output, *arguments):
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", *arguments]
    command += ["--doctree-dir", f"{output}-doctrees", source, output]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Build the site as `scripts/docs.sh` does, once for all processes of the tests."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    output, said = folder / "site", folder / "site.txt"
    with filelock.FileLock(folder / "site.lock"):
        if not said.exists():
            done = sphinx(ROOT / "docs", output, "--fail-on-warning", "--keep-going")
            said.write_text(f"{done.returncode}\n{done.stdout}{done.stderr}", "utf-8")
    return output, said.read_text("utf-8")


@pytest.fixture(scope="module")
def pages(built):
    found = read_site(built[0])
    assert len(found) > 50
    return found


def test_the_site_builds_without_a_warning(built):
    assert built[1] == "0\n"


@pytest.mark.parametrize("task", TASKS)
def test_a_newcomer_finds_a_task_in_two_clicks_from_the_text_of_the_start_page(task, built, pages):
    start = built[0] / "index.html"
    wanted = built[0] / "how-to" / f"{task}.html"
    one_click = pages[start].pages_in_article()
    two_clicks = set().union(*(pages[page].pages_in_article() for page in one_click))
    assert wanted in one_click | two_clicks
    assert len(pages[wanted].words) > 150


def public_packages():
    yield lrrf_jax
    for module in pkgutil.iter_modules(lrrf_jax.__path__, "lrrf_jax."):
        if not module.name.startswith("lrrf_jax._"):
            package = importlib.import_module(module.name)
            if hasattr(package, "__all__"):
                yield package


def value_of(name):
    """Find what a full name of the reference stands for."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    raise AssertionError(name)


def test_the_reference_has_every_public_name(built, pages):
    names = {
        name
        for path, page in pages.items()
        for name in page.ids
        if path.parent.name == "reference" and name.startswith("lrrf_jax.")
    }
    documented = [value_of(name) for name in names]
    packages = list(public_packages())
    assert {"lrrf_jax.metrics", "lrrf_jax.learners"} < {package.__name__ for package in packages}
    missing = [
        f"{package.__name__}.{name}"
        for package in packages
        for name in package.__all__
        if f"{package.__name__}.{name}" not in names
        and not any(getattr(package, name) is value for value in documented)
        # A module that is public by name is described by its functions.
        and not any(other.startswith(f"{package.__name__}.{name}.") for other in names)
    ]
    assert not missing


@pytest.mark.parametrize(
    "method", ["fit", "predict", "predict_order", "score", "save", "neighbors"]
)
def test_methods_that_a_forest_inherits_are_described_with_the_forest(method, built, pages):
    page = pages[built[0] / "reference" / "lrrf_jax.html"]
    assert f"lrrf_jax.RandomForestLabelRanker.{method}" in page.ids


def test_the_reference_has_every_learner_under_its_short_name(built, pages):
    page = pages[built[0] / "reference" / "learners.html"]
    for name, learner in LEARNERS.items():
        place = page.words.index(name)
        assert learner.__name__ in page.words[place : place + 3]
        assert any(link.endswith(f".{learner.__name__}") for link in page.article_links)


def test_the_reference_has_the_help_of_every_command(built, pages):
    words = " ".join(pages[built[0] / "reference" / "commands.html"].words)
    for command in ("train", "predict", "evaluate", "inspect", "datasets fetch", "doctor"):
        assert f"Usage: lrrf {command} " in words
    assert "--memory-budget" in words


def test_every_link_inside_the_site_leads_to_a_page_and_an_anchor_that_are_there(pages):
    broken, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            target = page.target(link)
            if target is None:
                continue
            place, anchor = target
            if not place.exists() or (anchor and anchor not in pages[place].ids):
                broken.append(f"{path.name}: {link}")
            followed += 1
    assert followed > 5000
    assert not broken


def test_pages_load_nothing_from_elsewhere_and_all_that_they_load_is_there(pages):
    loaded = {(page, source) for page in pages.values() for source in page.loaded}
    targets = [page.target(source) for page, source in loaded]
    assert all(target and target[0].exists() for target in targets)
    assert any(target[0].suffix == ".png" for target in targets)  # of notebooks


def test_paths_of_pages_in_other_files_of_the_repository_are_links(built, pages):
    contributing = pages[built[0] / "project" / "contributing.html"].pages_in_article()
    assert {built[0] / "design.html", built[0] / "project" / "security.html"} <= contributing
    measures = pages[built[0] / "reference" / "metrics.html"].pages_in_article()
    assert built[0] / "measures.html" in measures  # of a docstring


def test_public_names_in_pages_and_docstrings_are_links_to_their_descriptions(built, pages):
    links = pages[built[0] / "statistics.html"].article_links
    assert "reference/evaluation.html#lrrf_jax.evaluation.friedman" in links
    links = pages[built[0] / "reference" / "evaluation.html"].article_links
    assert "#lrrf_jax.evaluation.cross_validate" in links  # as `cross_validate` in CrossValidation


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("Kendall", "reference/metrics"),
        ("partial", "how-to/partial-rankings"),
        ("ONNX", "how-to/export"),
        ("predict_order", "reference/lrrf_jax"),
    ],
)
def test_the_search_finds_a_word_on_the_page_that_is_about_it(word, page, built):
    from sphinx.search.en import SearchEnglish

    text = (built[0] / "searchindex.js").read_text("utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, re.DOTALL)[1])
    language = SearchEnglish({})
    stems = [language.stem(part.lower()) for part in language.split(word)]
    for stem in stems:
        places = [*listed(index["terms"].get(stem, [])), *listed(index["titleterms"].get(stem, []))]
        assert page in [index["docnames"][place] for place in places]


def listed(places):
    return places if isinstance(places, list) else [places]


def test_links_to_files_that_no_page_shows_lead_to_the_repository_if_it_has_an_address(tmp_path):
    (tmp_path / "conf.py").write_text(
        "import sys\nsys.path.insert(0, {!r})\nextensions = ['myst_parser', 'repository_links']\n"
        "html_theme = 'basic'\n".format(str(ROOT / "docs/_site"))
    )
    (tmp_path / "index.md").write_text(
        "# Start\n\n[the tests](../scripts/test.sh), [benchmarks](../benchmarks), `docs/gpu.txt`,"
        " [survivors](../scripts/quality/survivors.md)\n"
    )
    strict = ("--fail-on-warning", "--keep-going")
    done = sphinx(tmp_path, tmp_path / "plain", *strict)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "plain/index.html").read_text("utf-8")
    assert "the tests, benchmarks, docs/gpu.txt, survivors" in re.sub("<[^>]*>", "", page)
    assert "scripts/test.sh" not in page
    done = sphinx(tmp_path, tmp_path / "linked", *strict, "-Drepository_url=https://example.org/r/")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "linked/index.html").read_text("utf-8")
    assert 'href="https://example.org/r/blob/main/scripts/test.sh"' in page
    assert 'href="https://example.org/r/blob/main/scripts/quality/survivors.md"' in page
    assert 'href="https://example.org/r/tree/main/benchmarks"' in page
