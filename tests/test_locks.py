"""Lock files: one holder at a time, and nothing left behind."""

import os
import subprocess
import sys

import filelock
import pytest

from lrrf_jax._locks import held


def test_a_lock_file_is_there_while_it_is_held_and_gone_afterwards(tmp_path):
    path = tmp_path / "l"
    with held(path, 0):
        assert path.exists()
        with pytest.raises(filelock.Timeout), held(path, 0):
            pass
        assert path.exists()  # who did not get it does not remove it
    assert os.listdir(tmp_path) == []
    with pytest.raises(KeyError), held(path, 0):
        raise KeyError
    path.touch()  # as a killed run leaves it
    with held(path, 0):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="elsewhere open files are not removed")
def test_who_opened_a_file_that_is_removed_takes_the_new_one(tmp_path, monkeypatch):
    """The race that lock files are left behind for: the file goes between opening and locking."""
    import fcntl

    path, lock, raced = tmp_path / "l", fcntl.flock, []
    first = held(path, 0)
    first.__enter__()

    def after_the_first_left(descriptor, operation):
        if not raced:
            raced.append(os.fstat(descriptor).st_ino)
            first.__exit__(None, None, None)
            assert os.fstat(descriptor).st_nlink == 0  # what is locked now has no name
        return lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", after_the_first_left)
    with held(path, 5):
        assert raced
        assert path.exists()
        with pytest.raises(filelock.Timeout), held(path, 0):
            pass


COUNT = """
import sys, filelock
from lrrf_jax._locks import held
for _ in range(400):
    while True:
        try:
            with held(sys.argv[1] + "/l", 0):
                with open(sys.argv[1] + "/count") as file:
                    count = int(file.read())
                with open(sys.argv[1] + "/count", "w") as file:
                    file.write(str(count + 1))
            break
        except filelock.Timeout:
            continue
"""


def test_processes_hold_a_lock_one_after_another(tmp_path):
    (tmp_path / "count").write_text("0")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", COUNT, str(tmp_path)]
    started = [subprocess.Popen(command, env=variables) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "1200"
    assert os.listdir(tmp_path) == ["count"]
