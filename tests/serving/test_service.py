"""Answers are what the model says, whatever else is asked in the same call."""

import concurrent.futures
import json

import numpy as np
import pytest

from lrrf_jax import LEARNERS, load
from lrrf_jax.serving.service import RankingService
from tests.pipelines import tables
from tests.serving import models
from tests.serving.models import MAX_ROWS, arrays, objects, trips


def asked(rows, **others):
    return json.dumps({"rows": rows} | others).encode()


def answered(service, *bodies):
    return [(reply.status, json.loads(reply.body)) for reply in service.answer(bodies)]


def frames():
    X, _ = trips()
    return {
        "forest": (models.forest(), X),
        "forest_of_numbers": (models.forest_of_numbers(), X[["age", "km"]]),
        "linear": (models.linear(), X[["km"]]),
        "pipeline": (models.pipeline(), tables.table()[0].drop(columns="shop")),
    }


@pytest.mark.parametrize("name", ["forest", "forest_of_numbers", "linear", "pipeline"])
def test_answers_are_what_the_model_predicts_for_a_frame(name, tmp_path):
    ranker, X = frames()[name]
    X = X[:MAX_ROWS]
    ranker.save(tmp_path / "model.lrrf")
    service = RankingService.of(tmp_path / "model.lrrf", MAX_ROWS)
    service.warm_up()
    rows = arrays(X)
    if name == "forest_of_numbers":
        X = X.to_numpy()
    if name != "pipeline":  # whose columns that no step uses have no place in an array
        ((status, answer),) = answered(service, asked(rows))
        assert status == 200
        assert answer["positions"] == ranker.predict(X).tolist()
        assert answer.keys() == {"labels", "order", "positions"}
    if name != "forest_of_numbers":
        body = asked(objects(X), scores=True, top=2, ids=list(range(len(X))))
        ((status, answer),) = answered(service, body)
        assert status == 200
        assert answer["labels"] == ranker.labels_.tolist()
        assert answer["positions"] == ranker.predict(X).tolist()
        assert answer["order"] == ranker.predict_order(X)[:, :2].tolist()
        assert answer["ids"] == list(range(len(X)))
        scores = np.array(answer["scores"], np.float32)
        np.testing.assert_array_equal(scores, ranker.predict_scores(X))


def test_rows_for_a_pipeline_may_have_the_columns_that_no_step_uses():
    X = tables.table()[0][:3]
    service = RankingService(models.pipeline(), MAX_ROWS)
    assert {"shop", "code"} & set(X)
    ((status, answer),) = answered(service, asked(objects(X)))
    assert (status, answer["positions"]) == (200, models.pipeline().predict(X).tolist())


def test_a_bad_request_fails_alone_whatever_finds_it():
    linear = RankingService(models.linear(), MAX_ROWS)
    good = asked([{"km": 2.5}])
    bad = {
        b"": "the body: Invalid JSON",
        b'{"rows": [[1], {"km": 1}]}': "rows.1: Input should be a valid array",
        b'{"rows": [[1]], "answer": "order"}': "answer: Extra inputs are not permitted",
        asked([{"kg": 2.5}]): "'kg' is not known",
        # That this learner takes none is found when all are ranked at once.
        asked([{"km": None}]): "no missing values for 'rpc'; row 0, column 'km' is NaN (1 of 1",
        asked([[1]] * 2, ids=["a"]): "ids must be as many as rows, 2; there are 1",
        asked([[1]], top=4): "top must be 3, the labels, at most; it is 4",
        asked([[1]], top=0): "top: Input should be greater than or equal to 1",
        asked([[1]], ids=[1.5]): "ids.0: Input should be a valid",
    }
    answers = answered(linear, *[body for one in bad for body in (good, one)])
    wanted = models.linear().predict(trips()[0][["km"]].iloc[:0].reindex([0]).fillna(2.5)).tolist()
    assert [status for status, _ in answers] == [200, 422] * len(bad)
    for (_, fine), (_, problem), told in zip(
        answers[::2], answers[1::2], bad.values(), strict=True
    ):
        assert fine["positions"] == wanted
        assert told in problem["detail"]


def test_too_many_rows_are_refused_by_number():
    service = RankingService(models.linear(), 3)
    ((status, problem),) = answered(service, asked([[1]] * 4))
    assert (status, problem["detail"][:42]) == (413, "rows must hold 3 rows at most; it holds 4.")


def test_requests_in_one_call_get_what_each_gets_alone(monkeypatch):
    ranker, X = frames()["forest"]
    calls = []
    predict = type(ranker).predict
    monkeypatch.setattr(
        type(ranker), "predict", lambda self, rows: calls.append(1) or predict(self, rows)
    )
    service = RankingService(ranker, MAX_ROWS)
    bodies = [
        asked(objects(X[at : at + size]), top=1 + at % 3, scores=bool(at % 2))
        for at, size in ((0, 1), (3, 4), (1, 2), (7, 1))
    ]
    together = service.answer(bodies)
    assert len(calls) == 1
    assert together == [service.answer([body])[0] for body in bodies]
    assert len(calls) == 5
    assert ["scores" in json.loads(reply.body) for reply in together] == [False, True, True, True]


def test_threads_get_what_one_gets():
    ranker, X = frames()["forest"]
    service = RankingService(ranker, MAX_ROWS)
    bodies = [asked(objects(X[at : at + 3])) for at in range(30)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda body: service.answer([body])[0], bodies * 3))
    assert found == service.answer(bodies) * 3


def test_after_the_warm_up_no_request_compiles(tmp_path, monkeypatch):
    X, y = trips()
    LEARNERS["rpc"]().fit(X[["km"]], y).save(tmp_path / "rpc.lrrf")
    ranker = load(tmp_path / "rpc.lrrf")
    service = RankingService(ranker, 8)
    service.warm_up()
    for of_ranks in (True, False):
        assert ranker._seen(of_ranks).sizes >= {1, 8}


def test_the_model_is_told():
    told = RankingService(models.forest(), MAX_ROWS).model(99).model_dump()
    assert told["learner"] == "lr-rf"
    assert told["labels"] == ["bus", "bike", "tram"]
    assert told["features"] == ["age", "town", "km"]
    assert {name: set(levels) for name, levels in told["categories"].items()} == {
        "town": {"Köln", "Bonn", "Aachen"}
    }
    assert told["limits"] == {"rows": MAX_ROWS, "bytes": 99}
    assert RankingService(models.forest_of_numbers(), 1).model(1).features is None
    assert RankingService(models.pipeline(), 1).model(1).unseen == "error"
