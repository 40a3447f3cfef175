"""Requests a second, and how long each waits: `lrrf serve` and scikit-learn with the same forest.

    python scripts/benchmark_serving.py           # about four minutes; benchmarks/serving.json
    python scripts/benchmark_serving.py --quick --output /tmp/serving.json

Each server is a process with one worker, and all are there throughout; the client, another process
on the same machine, asks them in turn, once per round and cell, over so many connections, each of
which sends its next request when it has its answer. What one round tells of a server is compared
with what the same round tells of the others. Medians over rounds; percentiles over all requests.

| server | what it is |
|---|---|
| lrrf_jax | `lrrf serve MODEL` |
| lrrf_jax, one by one | the same with ``--max-batch 1`` |
| scikit-learn, our service | the service of `lrrf serve`, its forest replaced by scikit-learn's |
| scikit-learn | a FastAPI of the usual form: a pydantic model, a function on the thread pool |

The forest of scikit-learn has the very trees of ours (`interchange.to_scikit_learn`), as the last
step of a pipeline; its sums are ranked by argsort, and the answers of all servers are equal, which
is checked.
"""

import argparse
import asyncio
import datetime
import itertools
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
SERVERS = ("lrrf_jax", "lrrf_jax, one by one", "scikit-learn, our service", "scikit-learn")
CONNECTIONS, ROWS = (1, 8, 32), (1, 32, 1000)
TRAINING_ROWS, N_FEATURES, N_LABELS, TREES, DEPTH = 2000, 16, 10, 100, 8
ROUNDS, SECONDS = 5, 0.8  # of a server in a cell
QUICK_ROUNDS, QUICK_SECONDS, QUICK_TREES = 1, 0.2, 10
N_BODIES = 16  # different ones, sent in turn


# ------------------------------------------------------------------------------- servers
def scikit_learn_pipeline(ranker: Any) -> Any:
    """Return a pipeline that ends in our trees, and predicts their mean positions."""
    from sklearn.pipeline import make_pipeline

    from lrrf_jax.interchange.to_scikit_learn import to_scikit_learn

    return make_pipeline("passthrough", to_scikit_learn(ranker, n_jobs=1))


def positions_of(pipeline: Any, features: np.ndarray) -> np.ndarray:
    """Rank by the mean position over trees, the lower label first among equals."""
    n_trees = pipeline[-1].n_estimators
    order = np.rint(pipeline.predict(features) * n_trees).argsort(1, kind="stable")
    return order.argsort(1) + 1


def run_scikit_learn(model: str, port: int, *, ours: bool) -> None:
    """Serve the forest of a model with scikit-learn, until it is told to stop."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    from lrrf_jax import load
    from lrrf_jax.serving import app as serving
    from lrrf_jax.serving import create_app
    from lrrf_jax.serving.service import RankingService

    ranker = load(model)
    pipeline, labels = scikit_learn_pipeline(ranker), ranker.labels_.astype(object)

    class Service(RankingService):
        def warm_up(self) -> None:
            self._rank(np.zeros((1, N_FEATURES), np.float32), scores=False)

        def _rank(self, features: np.ndarray, *, scores: bool) -> list[np.ndarray]:
            return [positions_of(pipeline, features)]

    class Rows(BaseModel):
        rows: list[list[float | None]]

    plain = FastAPI()

    @plain.post("/rank")
    def rank(question: Rows) -> dict[str, list]:
        positions = positions_of(pipeline, np.array(question.rows, np.float32))
        order = labels[positions.argsort(1)]
        found = {"labels": labels, "order": order, "positions": positions}
        return {name: value.tolist() for name, value in found.items()}

    @plain.get("/ready")
    def ready() -> None:
        pass

    if ours:
        serving.RankingService = Service  # type: ignore[misc]
    app = create_app(ranker) if ours else plain
    uvicorn.run(app, port=port, log_level="warning")


def command(server: str, model: str, port: int) -> list[str]:
    """Return what starts a server."""
    if server.startswith("lrrf_jax"):
        program = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
        words = [sys.executable, "-c", program, "serve", model, "--port", str(port)]
        return words + ["--max-batch", "1"] * server.endswith("one by one")
    return [sys.executable, __file__, "--run", server, "--model", model, "--port", str(port)]


# ------------------------------------------------------------------------------- the client
class Connection:
    """One connection that is kept; HTTP as far as it is needed here, and no more work."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        """Connect."""
        streams = await asyncio.open_connection("127.0.0.1", self._port)
        self._reader, self._writer = streams

    async def ask(self, body: bytes) -> bytes:
        """Return the body of the answer; RuntimeError where that is none."""
        self._writer.write(
            b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        return await self._reader.readexactly(int(fields[b"content-length"]))

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


async def load(port: int, bodies: list[bytes], connections: int, seconds: float) -> dict[str, Any]:
    """Ask for a while; returns how long each request took, and how many there were a second."""
    took: list[float] = []
    opened = [Connection(port) for _ in range(connections)]
    await asyncio.gather(*[one.open() for one in opened])
    end = time.perf_counter() + seconds

    async def keep_asking(connection: Connection, first: int) -> None:
        for at in itertools.count(first):
            started = time.perf_counter()
            if started >= end:
                return
            await connection.ask(bodies[at % len(bodies)])
            took.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*[keep_asking(one, i) for i, one in enumerate(opened)])
    wall = time.perf_counter() - started
    for one in opened:
        one.close()
    return {"seconds": took, "per_second": len(took) / wall}


async def answers(port: int, bodies: list[bytes]) -> list[Any]:
    connection = Connection(port)
    await connection.open()
    found = [json.loads(await connection.ask(body))["positions"] for body in bodies]
    connection.close()
    return found


# ------------------------------------------------------------------------------- measuring
def summarised(rounds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians over rounds, percentiles over all requests, and ratios within rounds."""
    cell: dict[str, Any] = {}
    base = [one["per_second"] for one in rounds[SERVERS[0]]]
    for server, found in rounds.items():
        took = np.concatenate([one["seconds"] for one in found]) * 1000
        rates = [one["per_second"] for one in found]
        percentiles = dict(
            zip(("p50", "p95", "p99"), np.percentile(took, (50, 95, 99)), strict=True)
        )
        cell[server] = {
            "requests": len(took),
            "per_second": round(statistics.median(rates), 1),
            "milliseconds": {name: round(float(value), 3) for name, value in percentiles.items()},
            "lrrf_jax_times_as_many": round(
                statistics.median(ours / theirs for ours, theirs in zip(base, rates, strict=True)),
                2,
            ),
            "of_rounds": [round(rate, 1) for rate in rates],
        }
    return cell


def measure(model: str, n_trees: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Start the servers, ask them in turn, and return the document."""
    from lrrf_jax import RandomForestLabelRanker
    from lrrf_jax.benchmarks.session import hardware, versions

    machine = hardware()  # with the load at the start
    rng = np.random.default_rng(0)
    X = rng.standard_normal((TRAINING_ROWS, N_FEATURES)).astype(np.float32)
    worth = X @ rng.standard_normal((N_FEATURES, N_LABELS)) + rng.gumbel(size=(len(X), N_LABELS))
    ranker = RandomForestLabelRanker(n_trees, max_depth=DEPTH, random_state=0)
    ranker.fit(X, (-worth).argsort(1).argsort(1) + 1).save(model)
    asked = rng.standard_normal((N_BODIES, max(ROWS), N_FEATURES)).round(4)
    ports, processes = {}, []
    try:
        for server in SERVERS:
            with socket.socket() as place:
                place.bind(("127.0.0.1", 0))
                ports[server] = place.getsockname()[1]
            processes.append(subprocess.Popen(command(server, model, ports[server])))
            wait_until_ready(processes[-1], ports[server])
        cells = []
        for n_rows in ROWS:
            bodies = [json.dumps({"rows": part[:n_rows].tolist()}).encode() for part in asked]
            wanted = [ranker.predict(part[:n_rows]).tolist() for part in asked[:2]]
            for server, port in ports.items():  # which is also what is not timed
                assert asyncio.run(answers(port, bodies[:2])) == wanted, server
            for connections in CONNECTIONS:
                for port in ports.values():
                    asyncio.run(load(port, bodies, connections, seconds / 4))
                found: dict[str, list[dict[str, Any]]] = {server: [] for server in SERVERS}
                for number in range(rounds):
                    for server in SERVERS[number % 2 * 3 :: 1 - number % 2 * 2]:  # to and fro
                        one = asyncio.run(load(ports[server], bodies, connections, seconds))
                        found[server].append(one)
                cell = {"rows": n_rows, "connections": connections, "servers": summarised(found)}
                cells.append(cell)
                print(line(cell), flush=True)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
    packages = versions() | {name: version_of(name) for name in ("fastapi", "uvicorn", "pydantic")}
    return {
        "what": "requests a second, and milliseconds until an answer, by rows of a request and "
        "connections; a worker per server, the client on the same machine",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": packages,
        "hardware": machine | {"load_at_end": round(os.getloadavg()[0], 2)},
        "settings": {
            "forest": f"{n_trees} trees, depth {DEPTH}, {N_FEATURES} features, {N_LABELS} labels, "
            f"{TRAINING_ROWS} training rows",
            "rounds": rounds,
            "seconds of a server in a round": seconds,
        },
        "cells": cells,
    }


def wait_until_ready(process: subprocess.Popen, port: int) -> None:
    import urllib.request

    for _ in range(3000):
        assert process.poll() is None, "a server ended"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("a server did not get ready")


def version_of(package: str) -> str:
    import importlib.metadata

    return importlib.metadata.version(package)


def line(cell: dict[str, Any]) -> str:
    """Write a cell in a few lines."""
    out = [f"{cell['rows']} rows, {cell['connections']} connections"]
    for server, told in cell["servers"].items():
        p = told["milliseconds"]
        out.append(
            f"  {server:28}{told['per_second']:9.1f} a second  p50 {p['p50']:8.2f}  p95 "
            f"{p['p95']:8.2f}  p99 {p['p99']:8.2f} ms  {told['lrrf_jax_times_as_many']:6.2f}x"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument("--output", default=ROOT / "benchmarks/serving.json", type=pathlib.Path)
    for option in ("--run", "--model", "--port"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_scikit_learn(options.model, int(options.port), ours=options.run.endswith("service"))
        return
    how = (TREES, ROUNDS, SECONDS)
    if options.quick:
        how = (QUICK_TREES, QUICK_ROUNDS, QUICK_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        document = measure(str(pathlib.Path(folder, "model.lrrf")), *how)
    options.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
