"""The application: addresses, codes, limits, and when it is ready."""

import concurrent.futures
import json
import threading

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from lrrf_jax import InputError, ModelFileError, RandomForestLabelRanker
from lrrf_jax.serving import create_app
from lrrf_jax.serving.messages import Answer, Model
from lrrf_jax.serving.service import RankingService
from tests.serving.models import MAX_ROWS, forest, objects, trips


@pytest.fixture(scope="module")
def client():
    app = create_app(forest(), max_rows=MAX_ROWS, max_body=10_000)
    with TestClient(app) as client:
        yield client


def test_rankings_are_those_of_the_model(client):
    X = trips()[0][:5]
    told = client.post("/rank", json={"rows": objects(X), "scores": True, "ids": list("uvwxy")})
    assert told.status_code == 200
    assert told.headers["content-type"] == "application/json"
    answer = told.json()
    assert list(answer) == ["labels", "ids", "order", "positions", "scores"]
    assert answer["positions"] == forest().predict(X).tolist()
    assert answer["order"] == forest().predict_order(X).tolist()
    Answer.model_validate(answer, strict=True)


def test_health_readiness_and_model_are_told(client):
    assert client.get("/health").json() == {"status": "alive"}
    assert client.get("/ready").json() == {"status": "ready"}
    told = Model.model_validate(client.get("/model").json(), strict=True)
    assert told.features == ["age", "town", "km"]
    assert told.limits.bytes == 10_000


def test_bad_rows_are_422_with_the_words_of_the_library(client):
    row = {"age": 3, "town": "Cologne", "km": 1}
    told = client.post("/rank", json={"rows": [row]})
    assert told.status_code == 422
    with pytest.raises(InputError) as raised:
        forest().predict(trips()[0][:1].assign(town="Cologne"))
    assert told.json() == {"detail": str(raised.value)}


@pytest.mark.parametrize(
    ("content", "kind", "status", "told"),
    [
        (b'{"rows": [[1, null, 2]]}', "text/plain", 415, "send Content-Type: application/json"),
        (b'{"rows": [[1, null, 2]]}', "Application/JSON ; charset=utf-8", 200, None),
        (b"{", "application/json", 422, "Invalid JSON"),
        (b'{"rows": [[NaN, null, 2]]}', "application/json", 200, None),
        (b'{"rows": [[Infinity, null, 2]]}', "application/json", 422, "column 'age' is inf"),
        (b"[" * 9_000, "application/json", 422, "recursion limit"),
        (b" " * 10_001, "application/json", 413, "the body must have 10000 bytes at most"),
        (
            json.dumps({"rows": [[1, None, 2]] * (MAX_ROWS + 1)}).encode(),
            "application/json",
            413,
            "rows must hold 32 rows at most; it holds 33",
        ),
    ],
)
def test_what_cannot_be_used_is_told(client, content, kind, status, told):
    reply = client.post("/rank", content=content, headers={"Content-Type": kind})
    assert reply.status_code == status, reply.text
    if told is not None:
        assert told in reply.json()["detail"]


def test_a_body_of_no_known_length_is_cut_off_at_the_limit(client):
    sent = []

    def pieces():
        for _ in range(100):
            sent.append(1)
            yield b" " * 1000

    kind = {"Content-Type": "application/json"}
    assert client.post("/rank", content=pieces(), headers=kind).status_code == 413
    assert sent
    assert client.post("/rank", json={"rows": [[1, None, 2]]}).status_code == 200


def test_threads_get_each_their_own_answers(client):
    X = trips()[0]
    wanted = forest().predict(X).tolist()

    def ask(at):
        bad = at % 7 == 3
        rows = [{"age": "old"}] if bad else objects(X[at : at + 2])
        reply = client.post("/rank", json={"rows": rows, "ids": [at, at + 1][: len(rows)]})
        if bad:
            return reply.status_code == 422
        return reply.json()["ids"] == [at, at + 1] and (
            reply.json()["positions"] == wanted[at : at + 2]
        )

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, [*range(38)] * 3))


def test_while_too_many_wait_others_are_told_to_come_again_and_health_answers(monkeypatch):
    started, goes_on, answer = threading.Event(), threading.Event(), RankingService.answer

    def slow(self, bodies):
        started.set()
        assert goes_on.wait(30)
        return answer(self, bodies)

    monkeypatch.setattr(RankingService, "answer", slow)
    app = create_app(forest(), max_rows=MAX_ROWS, max_batch=1, max_waiting=1)
    with TestClient(app) as client, concurrent.futures.ThreadPoolExecutor(3) as pool:
        body = {"rows": [[1, None, 2]]}
        first = pool.submit(client.post, "/rank", json=body)
        try:
            assert started.wait(30)
            others = [pool.submit(client.post, "/rank", json=body) for _ in range(2)]
            done, waits = concurrent.futures.wait(others, 30, concurrent.futures.FIRST_COMPLETED)
            refused = done.pop().result()
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "too many requests" in refused.json()["detail"]
            assert client.get("/health").status_code == 200
        finally:
            goes_on.set()
        assert [one.result().status_code for one in (first, *waits)] == [200, 200]


def test_a_model_is_loaded_once_and_before_the_first_answer(tmp_path, monkeypatch):
    forest().save(tmp_path / "model.lrrf")
    loads, of = [], RankingService.of.__func__

    def count(cls, model, max_rows):
        loads.append(model)
        return of(cls, model, max_rows)

    monkeypatch.setattr(RankingService, "of", classmethod(count))
    app = create_app(tmp_path / "model.lrrf", max_rows=MAX_ROWS)
    assert loads == []
    with TestClient(app) as client:
        assert loads == [tmp_path / "model.lrrf"]
        for _ in range(2):
            assert client.post("/rank", json={"rows": [[1, None, 2]]}).status_code == 200
    assert len(loads) == 1


def test_without_its_lifespan_it_lives_and_is_not_ready():
    outer = FastAPI()
    outer.mount("/model", create_app(forest(), max_rows=MAX_ROWS))
    with TestClient(outer) as client:  # which starts the outer application alone
        assert client.get("/model/health").status_code == 200
        for reply in (
            client.get("/model/ready"),
            client.post("/model/rank", json={"rows": [[1, None, 2]]}),
        ):
            assert reply.status_code == 503
            assert "lifespan" in reply.json()["detail"]


def test_a_model_that_cannot_be_loaded_ends_the_start(tmp_path):
    with (
        pytest.raises(ModelFileError, match="no such file"),
        TestClient(create_app(tmp_path / "none.lrrf")),
    ):
        pass


@pytest.mark.parametrize("limit", ["max_rows", "max_body", "max_batch", "max_waiting"])
def test_limits_must_be_numbers(limit):
    with pytest.raises(InputError, match=f"{limit} must be a whole number 1 or more; it is 0"):
        create_app(forest(), **{limit: 0})


def test_what_is_no_model_or_not_fitted_is_told(tmp_path):
    for no_model in (3, make_pipeline(DummyRegressor())):
        with pytest.raises(InputError, match="model must be the path of a model file, or a fitted"):
            create_app(no_model)
    with (
        pytest.raises(NotFittedError),
        TestClient(create_app(RandomForestLabelRanker())),
    ):
        pass


def test_the_documentation_tells_all_of_it(client):
    told = client.get("/openapi.json").json()
    rank = told["paths"]["/rank"]["post"]
    assert set(rank["responses"]) == {"200", "413", "415", "422", "503"}
    content = rank["requestBody"]["content"]["application/json"]
    assert list(content["example"]["rows"][0]) == ["age", "town", "km"]
    assert client.post("/rank", json=content["example"]).status_code == 200
    schema = content["schema"]
    assert list(schema["properties"]) == ["rows", "ids", "top", "scores"]
    assert all("description" in part for part in schema["properties"].values())
    answer = told["components"]["schemas"]["Answer"]["properties"]
    assert list(answer) == ["labels", "ids", "order", "positions", "scores"]
    assert all("description" in part for name, part in answer.items())
    for name in ("413", "415", "422", "503"):
        content = rank["responses"][name]["content"]["application/json"]["schema"]
        assert content == {"$ref": "#/components/schemas/Problem"}
    assert client.get("/docs").status_code == 200


def test_an_absent_fastapi_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastapi", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[serve\]'"):
        create_app(forest())
