"""The Dockerfile, as far as it goes without Docker: what it says, and its commands by themselves.

``-m slow`` runs each RUN in a folder of its own, with the paths of the image below it, and what the
image starts, with a model; as the user of the image, where this process may become it.
"""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import httpx
import pytest

from tests.serving.models import forest, objects, trips
from tests.serving.running import free_port, is_ready, wait_for

HERE = pathlib.Path(__file__).parents[2]
TEXT = (HERE / "Dockerfile").read_text("utf-8")


def instructions():
    """The instructions, by name, with what follows; continued lines are joined."""
    lines = [line for line in TEXT.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def told(name):
    return [rest for word, rest in instructions() if word == name]


def exec_form(rest):
    return json.loads(rest[rest.index("[") :])


def environment():
    return dict(pair.split("=", 1) for rest in told("ENV") for pair in rest.split())


def ignored(path):
    """What .dockerignore says of a path: the last pattern that fits decides."""
    out = False
    for pattern in (HERE / ".dockerignore").read_text().split("\n"):
        if pattern and not pattern.startswith("#"):
            bare = pattern.removeprefix("!")
            above = [str(folder) for folder in (pathlib.PurePath(path), *path.parents)][:-1]
            if any(
                fnmatch.fnmatch(f"/{one}", bare.replace("**", "*"))
                or one == bare
                or (bare == "*" and "/" not in one)
                for one in above
            ):
                out = not pattern.startswith("!")
    return out


def test_the_image_is_pinned_and_runs_as_nobody_in_particular():
    (argument,) = told("ARG")
    assert re.fullmatch(r"PYTHON=3\.\d+\.\d+-slim-\w+", argument)
    assert [rest.split()[0] for rest in told("FROM")] == ["python:${PYTHON}"] * 2
    assert told("USER") == ["10001:10001"]
    assert [word for word, _ in instructions()].index("USER") > max(
        at for at, (word, _) in enumerate(instructions()) if word == "RUN"
    )


def test_commands_are_lists_so_that_no_shell_stands_between_and_signals_arrive():
    for name in ("RUN", "ENTRYPOINT", "CMD", "HEALTHCHECK"):
        for rest in told(name):
            assert all(isinstance(word, str) for word in exec_form(rest))
    assert exec_form(told("ENTRYPOINT")[0]) == ["lrrf", "serve"]
    assert "/health" in exec_form(told("HEALTHCHECK")[0])[-1]
    assert environment()["LRRF_JAX_CACHE"] == "/cache"


def test_what_is_copied_is_there_and_nothing_else_goes_to_the_daemon():
    sources = [s for rest in told("COPY") if "--from" not in rest for s in rest.split()[:-1]]
    assert set(sources) == {"pyproject.toml", "README.md", "LICENSE", "lrrf_jax"}
    for source in sources:
        assert (HERE / source).exists()
        assert not ignored(pathlib.PurePath(source))
    assert not ignored(pathlib.PurePath("lrrf_jax/cli/serve.py"))
    for path in (".git/config", "tests/conftest.py", ".venv/bin/python", "benchmarks/x.json",
                 "lrrf_jax/cli/__pycache__/serve.pyc"):  # fmt: skip
        assert ignored(pathlib.PurePath(path)), path


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or shutil.which("install") is None, reason="needs POSIX")
def test_each_command_works_in_a_folder_and_the_last_serves_a_model(tmp_path):
    with tempfile.TemporaryDirectory() as folder:  # which other users may enter, as not tmp_path
        os.chmod(folder, 0o755)
        serve_from(pathlib.Path(os.environ.get("LRRF_IMAGE_ROOT", folder)), tmp_path / "log")


def serve_from(root, log):
    """Do what the Dockerfile says below a folder, and ask what it starts."""
    becomes_user = os.geteuid() == 0 and shutil.which("setpriv") is not None
    python = "/usr/bin/python3" if becomes_user else sys.executable  # which that user can read

    def here(word):
        word = re.sub(r"(?<![\w/:.])/(src|opt|cache|models|tmp)\b", rf"{root}/\1", word)
        return word

    for folder in ("src", "models", "tmp"):
        (root / folder).mkdir(parents=True)
    for rest in told("COPY"):
        if "--from" not in rest:
            *sources, to = rest.split()
            for source in sources:
                if (HERE / source).is_dir():
                    shutil.copytree(HERE / source, root / "src" / to)
                else:
                    shutil.copy(HERE / source, root / "src" / to)
    for rest in told("RUN"):
        words = [here(word) for word in exec_form(rest)]
        words = [python if word == "python" else word for word in words]
        if not becomes_user:
            words = [word for word in words if not word.startswith(("--owner", "--group"))]
        subprocess.run(words, cwd=root / "src", check=True)

    forest().save(root / "models/model.lrrf")
    os.chmod(root, 0o755)
    os.chmod(root / "tmp", 0o777)
    port = str(free_port())

    def command(name):
        words = [here(word).replace("8000", port) for word in exec_form(told(name)[-1])]
        return [w.replace("0.0.0.0", "127.0.0.1") for w in words]

    variables = {name: here(value) for name, value in environment().items()}
    variables["PATH"] = f"{root}/opt/lrrf/bin:/usr/bin:/bin"
    user = ["setpriv", "--reuid", "10001", "--regid", "10001", "--clear-groups"]
    user = user if becomes_user else []
    with open(log, "wb") as file:
        words = [*user, "env", *[f"{n}={v}" for n, v in variables.items()]]
        process = subprocess.Popen(
            [*words, *command("ENTRYPOINT"), *command("CMD")],
            stdout=file, stderr=file, cwd=root / "models", env={},
        )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(lambda: is_ready(address, process), log, 300)
        X = trips()[0]
        reply = httpx.post(f"{address}/rank", json={"rows": objects(X)}, trust_env=False)
        assert reply.json()["positions"] == forest().predict(X).tolist()
        check = [*words, *command("HEALTHCHECK")]
        assert subprocess.run(check, env={}, timeout=60, check=False).returncode == 0
        assert any((root / "cache").rglob("*")), "no program was kept"
        process.terminate()
        assert process.wait(60) == 0
        assert subprocess.run(check, env={}, timeout=60, check=False, stderr=-3).returncode != 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
