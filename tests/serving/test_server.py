"""`lrrf serve`: a process that answers, and ends as it is told."""

import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess

import httpx
import pytest

from lrrf_jax.cli import main
from tests.serving.models import MAX_ROWS, forest, objects, trips
from tests.serving.running import command, serving, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.lrrf"
    forest().save(path)
    return path


def test_it_answers_many_at_once_and_on_sigterm_what_was_begun(model, tmp_path):
    log = tmp_path / "log"
    X = trips()[0]
    wanted = forest().predict(X).tolist()
    with serving(model, "--max-rows", MAX_ROWS, log=log) as (process, address):
        with httpx.Client(base_url=address, trust_env=False) as client:

            def ask(at):
                reply = client.post("/rank", json={"rows": objects(X[at : at + 2])})
                return reply.json()["positions"] == wanted[at : at + 2]

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                assert all(pool.map(ask, [*range(38)] * 5))
            assert client.get("/health").json() == {"status": "alive"}
            assert client.get("/model").json()["labels"] == ["bus", "bike", "tram"]
            assert client.post("/rank", json={"rows": [[1]]}).status_code == 422

        # One who goes away in the middle is nobody's trouble.
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as gone:
            gone.sendall(
                b"POST /rank HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99\r\n\r\n{"
            )

        # A request of which half has arrived when the signal comes.
        body = json.dumps({"rows": objects(X[:2])}).encode()
        begun = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        begun.putrequest("POST", "/rank")
        begun.putheader("Content-Type", "application/json")
        begun.putheader("Content-Length", str(len(body)))
        begun.endheaders(body[:10])
        assert httpx.get(f"{address}/health", trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: "Shutting down" in log.read_text(), log)
        begun.send(body[10:])
        reply = begun.getresponse()
        assert (reply.status, json.loads(reply.read())["positions"]) == (200, wanted[:2])
        begun.close()
        assert process.wait(60) == 0
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_interrupted_it_ends_with_130(model, tmp_path):
    with serving(model, "--max-rows", MAX_ROWS, log=tmp_path / "log") as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.slow
def test_workers_share_the_port_and_one_that_is_killed_is_replaced(model, tmp_path):
    log = tmp_path / "log"
    with serving(model, "--max-rows", MAX_ROWS, "--workers", 2, log=log) as (process, address):
        wait_for(lambda: log.read_text().count("Application startup complete") == 2, log)
        listed = subprocess.run(
            ["ps", "--no-headers", "-o", "pid,args", "--ppid", str(process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        workers = [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn" in line]
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_for(lambda: log.read_text().count("Application startup complete") == 3, log)
        for _ in range(10):
            reply = httpx.post(f"{address}/rank", json={"rows": [[1, None, 2]]}, trust_env=False)
            assert reply.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_what_is_wrong_is_told_before_anything_is_served(model, tmp_path, capsys):
    (tmp_path / "no.lrrf").write_bytes(b"no model at all")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, code, told in (
            (["none.lrrf"], 4, "none.lrrf: there is no such file"),
            ([str(tmp_path / "no.lrrf"), "--port", "0"], 4, "is no model file"),
            ([str(model), "--port", str(port)], 2, f"127.0.0.1:{port} cannot be listened on"),
            ([str(model), "--port", "70000"], 2, "Invalid value for '--port'"),
            ([str(model), "--max-rows", "0"], 2, "Invalid value for '--max-rows'"),
            ([str(model), "--max-body", "much"], 2, "'much' is no size"),
        ):
            assert main(["serve", *words]) == code, words
            assert told in " ".join(capsys.readouterr().err.split()), words


@pytest.mark.parametrize("absent", ["fastapi", "uvicorn"])
def test_an_absent_extra_is_told(model, monkeypatch, capsys, absent):
    monkeypatch.setitem(__import__("sys").modules, absent, None)
    assert main(["serve", str(model)]) == 3
    assert "pip install 'lrrf_jax[serve]'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_start_that_fails_ends_with_1(model, tmp_path):
    # The file goes between the look at it and the start.
    program = (
        "import sys, os, lrrf_jax.serving.service as s; from lrrf_jax.cli import main\n"
        "def fail(*_): raise MemoryError\n"
        "s.RankingService.warm_up = fail\n"
        f"sys.exit(main(['serve', {str(model)!r}, '--port', '0']))"
    )
    words = [*command()[:2], program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
