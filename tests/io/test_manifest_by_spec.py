"""The specification of manifests is enough: a reader made of it alone says what ours says."""

import json
import os
import pathlib

import numpy as np
import pytest

from lrrf_jax import LEARNERS
from lrrf_jax.io import read_manifest
from lrrf_jax.io.manifest import FailureRecord, PartRecord
from tests.test_docs import programs_of

PAGE = pathlib.Path(__file__).parents[2] / "docs/formats/manifest.md"
TEXT = PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def spec():
    names = {}
    exec(compile(programs_of(PAGE)[0], str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def ranker():
    return LEARNERS["default"]().fit([[0.0], [1.0]], [[1, 2], [1, 2]], feature_names=["size"])


def write(folder, *names):
    for name in names:
        rows = "\n".join(map(str, range(7)))
        (folder / name).write_text(f"size\n{rows}\n")
    return [str(folder / name) for name in names]


def same(spec, directory):
    """Read a directory both ways, and return what both say."""
    plan, parts, failed, unfinished = spec["read"](directory)
    ours = read_manifest(directory)
    assert plan == ours.plan
    assert [PartRecord(**{**p, "fingerprint": tuple(p["fingerprint"])}) for p in parts] == [
        *ours.parts
    ]
    assert sorted(FailureRecord(**f) for f in failed) == sorted(ours.failed)
    assert unfinished == [*ours.unfinished]
    return ours


def test_both_readers_agree_on_shards_as_they_finish(tmp_path, spec, ranker):
    inputs, out = write(tmp_path, "one.csv", "two.csv"), tmp_path / "out"
    inputs.append(str(tmp_path / "three.npy"))
    np.save(inputs[-1], np.arange(7.0).reshape(7, 1))
    seen = []
    for shard in ("2/3", "1/3", "3/3"):
        ranker.predict_file(inputs, out, shard=shard, part_rows=3, resume=True)
        seen.append(same(spec, out))
    assert [len(one.unfinished) for one in seen] == [2, 1, 0]
    assert len(seen[-1].parts) == 9
    assert all(spec["is_whole"](out, part._asdict()) for part in seen[-1].parts)
    for part in seen[-1].parts:  # which shard took it, as the page says
        in_turn = part.part if part.input.endswith(".npy") else 0
        number = (inputs.index(part.input) + in_turn) % 3 + 1
        journal = (out / "_lrrf" / f"{number}-of-3.jsonl").read_text()
        assert f'"{part.output}"' in journal


def test_both_readers_agree_on_failures_and_on_those_that_were_made_good(tmp_path, spec, ranker):
    inputs, out = write(tmp_path, "good.csv", "bad.csv"), tmp_path / "out"
    (tmp_path / "bad.csv").write_text("size\n1\nlarge\n")
    ranker.predict_file(inputs, out, resume=True)
    found = same(spec, out)
    assert [failure.input for failure in found.failed] == [inputs[1]]
    assert found.unfinished == (inputs[1],)
    write(tmp_path, "bad.csv")
    ranker.predict_file(inputs, out, resume=True)
    assert same(spec, out).complete
    assert not same(spec, out).failed


def test_both_readers_pass_over_a_line_that_a_crash_cut_off(tmp_path, spec, ranker):
    (source,), out = write(tmp_path, "one.csv"), tmp_path / "out"
    ranker.predict_file([source], out, part_rows=3, resume=True)
    journal = out / "_lrrf" / "1-of-1.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-20])
    (out / "one-00002.parquet").unlink()  # it gets its name when the line is whole
    found = same(spec, out)
    assert found.unfinished == (source,)
    assert len(found.parts) == content.count(b"\n") - 1
    ranker.predict_file([source], out, part_rows=3, resume=True)
    assert same(spec, out).complete


def test_a_file_that_was_changed_is_not_whole(tmp_path, spec, ranker):
    (source,), out = write(tmp_path, "one.csv"), tmp_path / "out"
    ranker.predict_file([source], out, resume=True)
    (part,) = read_manifest(out).parts
    assert spec["is_whole"](out, part._asdict())
    path = out / part.output
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert not spec["is_whole"](out, part._asdict())


def test_the_page_names_every_entry_and_every_setting(tmp_path, ranker):
    (source,), out = write(tmp_path, "one.csv"), tmp_path / "out"
    ranker.predict_file([source], out, resume=True)
    plan = json.loads((out / "_lrrf/plan.json").read_text())
    (line,) = (out / "_lrrf/1-of-1.jsonl").read_text().splitlines()
    names = {*plan, *plan["settings"], *json.loads(line), *FailureRecord._fields}
    assert [name for name in names if f"`{name}`" not in TEXT] == []
    assert {*os.listdir(out)} == {"_lrrf", "one.parquet"}
