"""The specification of model files is enough: a reader made of it alone reads all stored ones."""

import ast
import json
import pathlib
import re

import numpy as np
import pytest

from lrrf_jax import LEARNERS, model_file
from lrrf_jax.learners.persistence import content
from tests.test_docs import programs_of

PAGE = pathlib.Path(__file__).parents[2] / "docs/formats/model-file.md"
TEXT = PAGE.read_text("utf-8")
READER = programs_of(PAGE)[0]
MODELS = sorted(pathlib.Path(__file__).parent.glob("v*/*.lrrf"))
OTHERS = ("ib-m", "ib-pl")  # whose algorithm is not told by the specification


@pytest.fixture(scope="module")
def spec():
    """Run the reader of the page; it may know NumPy and the standard library, and not us."""
    imported = {
        name.name
        for node in ast.walk(ast.parse(READER))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported == {"hashlib", "itertools", "json", "numpy"}
    names = {}
    exec(compile(READER, str(PAGE), "exec"), names)
    return names


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_reader_of_the_page_ranks_as_every_stored_model_did(path, spec):
    document, arrays = spec["read"](path)
    with np.load(path.with_suffix(".npz")) as stored:
        said = dict(stored)
    header, read = model_file.read_model(path)
    assert document == header
    assert arrays.keys() == read.keys()
    assert all((arrays[name] == read[name]).all() for name in arrays if read[name].dtype != "f4")
    if document["learner"] in OTHERS:
        return
    with np.errstate(over="ignore"):
        ranks = [spec["rank"](document, arrays, row) for row in said["x"]]
    assert (said["ranks"] == ranks).all()


def test_the_stored_models_have_both_formats_all_aggregations_and_all_learners():
    headers = [model_file.read_model(path)[0] for path in MODELS]
    assert {header["format_version"] for header in headers} == {1, 2}
    assert {header["learner"] for header in headers} == set(LEARNERS)
    aggregations = {header["config"].get("aggregation") for header in headers} - {None}
    assert aggregations == {"two-step", "one-step", "copeland", "kemeny"}


@pytest.mark.parametrize("at", [0.3, 0.7, 0.999])
def test_the_reader_of_the_page_finds_a_changed_byte(tmp_path, at, spec):
    damaged = bytearray(MODELS[-1].read_bytes())
    damaged[int(len(damaged) * at)] ^= 1
    path = tmp_path / "damaged"
    path.write_bytes(damaged)
    with pytest.raises((ValueError, KeyError)):  # in a header also what JSON finds
        spec["read"](path)


def test_the_page_names_every_entry_and_every_array(spec):
    entries = {*content._HEADER, *content.ADDED, "pipeline"}
    assert [name for name in entries if f"| `{name}` |" not in TEXT] == []
    names = {name for path in MODELS for name in model_file.read_model(path)[1]}
    assert len(names) > 15
    of_members = {re.sub(r"^\d+\.", "", name) for name in names}  # those of a stack, too
    assert len(of_members) < len(names)
    assert [name for name in of_members if f"`{name}`" not in TEXT] == []
    assert [name for name in LEARNERS if f"`{name}`" not in TEXT] == []


def test_the_limits_of_the_page_are_those_of_the_library():
    from lrrf_jax import _safetensors
    from lrrf_jax.learners.persistence import forests
    from lrrf_jax.trees.forest import MAX_DEPTH

    assert _safetensors.MOST_HEADER_BYTES == 2**24
    assert (_safetensors._MOST_LISTS, _safetensors._MOST_KEYS) == (2**20, 2**16)
    assert (forests.MAX_PLACES, forests._PLACES_PER_NODE, MAX_DEPTH) == (2**26, 256, 16)
    for said in ("2^24", "2^20 lists", "2^16 keys", "2^26", "256 N", "16 splits"):
        assert said in TEXT, said


def test_the_checksum_is_that_of_the_text_in_the_file_without_its_last_entry():
    for path in MODELS:
        raw = path.read_bytes()
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        text = header["__metadata__"]["lrrf_jax"]
        document = json.loads(text)
        assert list(document) == sorted(document)
        assert list(document)[-1] == "sha256"
        assert model_file._canonical(document) == text


def test_a_pipeline_is_stored_as_the_page_says():
    from lrrf_jax.pipelines import files, stored_steps

    for name in (*files._HEADER, *stored_steps.StepArrays._fields):
        assert f"`{name}`" in TEXT, name
    told = (
        *("FILL fill NaN with", "SUBTRACT subtract", "DIVIDE divide by", "MULTIPLY multiply by"),
        *("ADD add", "AT_LEAST at least", "AT_MOST at most", "IS_MISSING whether it is NaN"),
    )
    for number, words in enumerate(told):
        name, _, meaning = words.partition(" ")
        assert getattr(stored_steps, name) == number
        assert f"{number} {meaning}" in TEXT, words
