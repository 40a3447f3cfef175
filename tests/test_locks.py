"""Lock files: one holder at a time, and nothing left behind."""

import os
import threading

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


def test_many_threads_hold_a_lock_one_after_another(tmp_path):
    count, inside, most = 0, 0, 0

    def work():
        nonlocal count, inside, most
        for _ in range(100):
            while True:
                try:
                    with held(tmp_path / "l", 0):
                        inside += 1
                        most = max(most, inside)
                        before = count
                        os.stat(tmp_path)  # lets the others run
                        count = before + 1
                        inside -= 1
                    break
                except filelock.Timeout:
                    continue

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (count, most) == (400, 1)
    assert os.listdir(tmp_path) == []
