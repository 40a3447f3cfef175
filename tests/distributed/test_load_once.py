import concurrent.futures
import os

import numpy as np
import pytest

from lrrf_jax import ConsensusLabelRanker, ModelFileError
from lrrf_jax.distributed import load_once


def save(path, y):
    ConsensusLabelRanker().fit([[0.0], [1.0]], y).save(path)


def test_callers_on_several_threads_get_one_ranker(tmp_path):
    save(tmp_path / "a.lrrf", [[1, 2], [1, 2]])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        rankers = list(pool.map(load_once, [tmp_path / "a.lrrf"] * 40))
    assert len({id(ranker) for ranker in rankers}) == 1


def test_a_file_that_was_replaced_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "a.lrrf"
    save(path, [[1, 2], [1, 2]])
    np.testing.assert_array_equal(load_once(path).predict([[0.0]]), [[1, 2]])
    save(path, [[2, 1], [2, 1]])
    monkeypatch.chdir(tmp_path)
    ranker = load_once("a.lrrf")
    np.testing.assert_array_equal(ranker.predict([[0.0]]), [[2, 1]])
    assert load_once(os.fsencode(path)) is ranker


def test_an_absent_file_is_told_as_load_does(tmp_path):
    with pytest.raises(ModelFileError, match=r"a\.lrrf: there is no such file"):
        load_once(tmp_path / "a.lrrf")
