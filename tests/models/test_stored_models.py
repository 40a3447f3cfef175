"""Models of every released format load for ever, and rank as they did when they were stored."""

import numpy as np
import pytest

from lrrf_jax import LEARNERS, load, model_file
from tests.models.store import FOLDER

STORED = sorted(FOLDER.glob("v*/*.lrrf"))
FORMATS = range(1, model_file.FORMAT_VERSION + 1)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_ranks_as_it_did(path, tmp_path):
    ranker = load(path)
    said = np.load(path.with_suffix(".npz"))
    np.testing.assert_array_equal(ranker.predict(said["x"]), said["ranks"])
    np.testing.assert_allclose(ranker.predict_scores(said["x"]), said["scores"], rtol=1e-5)
    assert ranker.labels_.tolist() == ["a", "β", "c d"]
    assert ranker.feature_names_in_.tolist() == ["width", "b>c", "größe", "7"]
    # Saved again, in the present format, it is the same model.
    ranker.save(tmp_path / "again.lrrf")
    header, _ = model_file.read_model(path)
    again, _ = model_file.read_model(tmp_path / "again.lrrf")
    assert (header["format_version"], again["format_version"]) == (
        int(path.parent.name[1:]),
        model_file.FORMAT_VERSION,
    )
    for entry in ("config", "labels", "feature_names", "n_features"):
        assert again[entry] == header[entry]
    # Parameters that are not told have their defaults.
    told = type(ranker)().get_params() | again["params"]
    assert told == ranker.get_params() | header["params"]
    np.testing.assert_array_equal(
        load(tmp_path / "again.lrrf").predict_scores(said["x"]), ranker.predict_scores(said["x"])
    )


@pytest.mark.parametrize("version", FORMATS)
def test_every_format_has_a_model_of_every_learner_and_its_awkward_rows(version):
    paths = [path for path in STORED if path.parent.name == f"v{version}"]
    headers = [model_file.read_model(path)[0] for path in paths]
    assert len(paths) >= 20
    assert {header["format_version"] for header in headers} == {version}
    since_format_2 = {"mlp", "lr-boost", "stack"} if version == 1 else set()
    assert {header["learner"] for header in headers} == set(LEARNERS) - since_format_2
    aggregations = {header["config"].get("aggregation") for header in headers}
    assert aggregations >= {"two-step", "one-step", "copeland", "kemeny"}
    on_threshold = missing = 0
    for path in paths:
        x = np.load(path.with_suffix(".npz"))["x"]
        missing += np.isnan(x).any()
        ranker = load(path)
        if hasattr(ranker, "forest_"):
            split = np.isfinite(ranker.forest_.threshold)
            tests = zip(ranker.forest_.feature[split], ranker.forest_.threshold[split], strict=True)
            on_threshold += any((x[:, j] == t).any() for j, t in tests)
    assert on_threshold >= 10
    assert missing >= 10
