"""Every file that the package writes has the mode that the umask allows, as with any program."""

import json
import os
import stat

import numpy as np
import pytest

from lrrf_jax.cli import main
from lrrf_jax.datasets import kebi
from lrrf_jax.learners.forest.checkpoints import Checkpoint
from lrrf_jax.reports.files import save_page
from lrrf_jax.trees.blocks import Grown
from tests.models.store import FOLDER
from tests.trees.cases import forest_of_splits

MODEL = FOLDER / "v1" / "default.lrrf"
TABLE = "width,b>c,größe,7\n" + "1,2,3,4\n" * 5


@pytest.fixture(params=[0o022, 0o077, 0o002], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def predict(folder, *output):
    (folder / "rows.csv").write_text(TABLE)
    arguments = ["predict", str(MODEL), str(folder / "rows.csv"), "--no-compilation-cache"]
    assert main([*arguments, "--output", *output]) == 0


def predict_files(folder):
    for suffix in ("csv", "parquet", "npy"):
        predict(folder, str(folder / f"ranks.{suffix}"))


def predict_directory(folder):
    predict(folder, f"{folder / 'ranks'}/")
    assert (folder / "ranks" / "_lrrf" / "plan.json").is_file()


def train(folder):
    rows = "a,L1,L2\n1,1,2\n2,2,1\n3,1,2\n"
    (folder / "train.csv").write_text(rows)
    arguments = ["train", str(folder / "train.csv"), "--learner", "default", "--model"]
    assert main([*arguments, str(folder / "m.lrrf"), "--no-compilation-cache"]) == 0


def evaluate(folder):
    rows = "a,L1,L2\n" + "".join(f"{i % 7},{1 + i % 2},{2 - i % 2}\n" for i in range(20))
    (folder / "table.csv").write_text(rows)
    command = ["evaluate", str(folder / "table.csv"), "--learner", "default", "--folds", "2"]
    command += ["--repeats", "1", "--results", str(folder / "folds.csv"), "--no-compilation-cache"]
    assert main(command) == 0


def checkpoint(folder):
    fit = {"n_labels": 2, "aggregation": "one-step", "max_depth": 5}
    saved = Checkpoint(folder / "blocks", fit, 3)
    saved.finished(0, 2)
    forest = forest_of_splits(2, 3, [(0, 0)])
    saved.add(Grown(forest, np.zeros(forest.feature.shape, np.float32)))
    saved.flush()
    assert len(os.listdir(folder / "blocks")) == 1


def cached_download(folder):
    path = folder / "download.txt"
    path.write_text("rows")
    path.chmod(0o600)  # as pooch leaves it
    kebi._keep(str(path), "iris", str(folder))
    path.unlink()
    assert (folder / "iris.txt").read_text() == "rows"


WRITERS = {
    "predict": predict_files,
    "predict into a directory": predict_directory,
    "train": train,
    "evaluate": evaluate,
    "a page": lambda folder: save_page(folder / "page.html", "<p>ä</p>"),
    "a checkpoint": checkpoint,
    "a download": cached_download,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_umask_is_honoured(writer, umask, tmp_path, tmp_path_factory, monkeypatch, capsys):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))
    WRITERS[writer](tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    modes = {str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in files}
    assert set(modes.values()) == {oct(0o666 & ~umask)}, json.dumps(modes, indent=1)


@pytest.mark.parametrize("writer", ["predict", "train", "a page"])
def test_a_file_that_is_replaced_keeps_its_mode(
    writer, tmp_path, tmp_path_factory, monkeypatch, capsys
):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))
    names = {"predict": "ranks.csv", "train": "m.lrrf", "a page": "page.html"}
    path = tmp_path / names[writer]
    path.write_text("old")
    path.chmod(0o640)
    if writer == "predict":
        predict(tmp_path, str(path), "--overwrite")
    else:
        WRITERS[writer](tmp_path)
    assert path.read_bytes() != b"old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
