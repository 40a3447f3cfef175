"""A server in a process of its own, as `lrrf serve` starts it."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import httpx

_PROGRAM = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
SOURCES = str(pathlib.Path(__file__).parents[2])


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def command(*words):
    return [sys.executable, "-c", _PROGRAM, *map(str, words)]


@contextlib.contextmanager
def serving(model, *options, log):
    """Start a server and wait until it is ready; yields the process and its address."""
    port = free_port()
    words = command("serve", model, "--port", port, *options)
    with open(log, "wb") as file:
        process = subprocess.Popen(
            words, stdout=file, stderr=file, env={**os.environ, "PYTHONPATH": SOURCES}
        )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: is_ready(address, process), log)
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def is_ready(address, process):
    assert process.poll() is None, f"it ended with {process.returncode}"
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{address}/ready", trust_env=False).status_code == 200
    return False


def wait_for(condition, log, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, pathlib.Path(log).read_text()
        time.sleep(0.05)
