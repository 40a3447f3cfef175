"""Files of programs: whole, one's own, bounded; and who decides whether there are any."""

import os
import pickle

import pytest
from jax._src import config

from lrrf_jax import _program_store, _programs, use_compilation_cache
from lrrf_jax._program_store import ProgramStore, chosen_store, use_store
from lrrf_jax.rankings.permutations import ordering_from_ranks
from tests.kept import RANKS, afresh, files

pytestmark = pytest.mark.skipif(
    not _programs._CAN_KEEP, reason="older versions of XLA complain of what they load"
)


@pytest.mark.skipif(os.name != "posix", reason="owners of files")
def test_what_strangers_may_have_written_is_not_read(store, tmp_path, monkeypatch):
    store.write("a", b"program")
    (path,) = files(store)
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o666)
    assert store.read("a") is None
    path.chmod(0o600)
    assert store.read("a") == b"program"
    path.with_stem("b").symlink_to(path)
    assert store.read("b") is None
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert store.read("a") is None


def test_the_programs_that_were_used_last_stay_within_the_bound(tmp_path):
    store = ProgramStore(str(tmp_path), max_bytes=1000)
    for age, name in enumerate("abc"):
        store.write(name, b"x" * 200)
        os.utime(store._path(name), (0, age))
    assert store.read("a") is not None  # used again
    store.write("d", b"x" * 200)
    assert [store.read(name) is not None for name in "abcd"] == [True, False, True, True]
    store.write("e", b"x" * 2000)
    assert store.read("e") is None
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1000


def test_what_killed_processes_left_half_written_is_deleted(tmp_path):
    store = ProgramStore(str(tmp_path))
    for name, when in (("old.half", 0), ("new.half", None)):
        (tmp_path / name).write_bytes(b"x")
        if when is not None:
            os.utime(tmp_path / name, (when, when))
    store.write("a", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.program", "new.half"]


def test_a_disk_that_can_only_be_read_is_read(tmp_path, monkeypatch):
    store = ProgramStore(str(tmp_path))
    store.write("a", b"x")

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    for name in ("os.utime", "tempfile.mkstemp", "os.remove"):
        monkeypatch.setattr(name, read_only)
    assert store.read("a") == b"x"
    store.write("b", b"x")
    store.remove("a")
    assert store.read("a") == b"x"


def test_a_disk_that_is_full_or_gone_stops_nothing(tmp_path, monkeypatch):
    store = ProgramStore(str(tmp_path / "gone"))
    store.write("a", b"x")
    assert store.read("a") is None
    store.remove("a")
    store = ProgramStore(str(tmp_path))

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", no_space)
    store.write("a", b"x")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------- who decides
@pytest.fixture
def undecided(monkeypatch, tmp_path):
    monkeypatch.setattr(_program_store, "_store", _program_store._UNDECIDED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LRRF_JAX_CACHE")
    return tmp_path


def test_programs_are_kept_in_the_users_cache(undecided):
    folder = _program_store.current_store().folder
    assert folder.startswith(str(undecided / "lrrf_jax/xla"))
    assert folder.endswith("programs")
    assert os.stat(folder).st_mode & 0o077 == 0


@pytest.mark.parametrize("value", ["0", "off", "False"])
def test_the_environment_switches_it_off(undecided, monkeypatch, value):
    monkeypatch.setenv("LRRF_JAX_CACHE", value)
    assert _program_store.current_store() is None
    assert use_compilation_cache() is None
    assert list(undecided.iterdir()) == []


def test_the_environment_names_a_directory(undecided, monkeypatch):
    monkeypatch.setenv("LRRF_JAX_CACHE", str(undecided / "mine"))
    assert _program_store.current_store().folder.startswith(str(undecided / "mine"))


def test_an_argument_switches_it_off(store, traced):
    assert use_compilation_cache(False) is None
    assert afresh(ordering_from_ranks)(RANKS).tolist() == [[1, 0, 2], [1, 2, 0]]
    assert files(store) == []


@pytest.mark.parametrize(
    "setting", [lambda: config.compilation_cache_dir("own"), lambda: config.disable_jit(True)]
)
def test_where_the_caller_chose_otherwise_nothing_is_kept(store, setting):
    with setting():
        assert _programs._store_in_use() is None
    with config.enable_compilation_cache(False):
        assert _programs._store_in_use() is None
    assert _programs._store_in_use() is store


def test_where_xla_complains_of_what_it_loads_nothing_is_kept(store, monkeypatch):
    monkeypatch.setattr(_programs, "_CAN_KEEP", False)
    assert _programs._store_in_use() is None


def test_other_processes_are_told_to_keep_programs_in_the_same_place(store, monkeypatch):
    monkeypatch.setattr(_program_store, "_beside", "of JAX")
    told = pickle.loads(pickle.dumps(chosen_store()))
    use_store(None)
    use_store(*told)
    assert _program_store.current_store().folder == store.folder
    assert _program_store.beside_ours("of JAX")


@pytest.mark.skipif(os.name != "posix", reason="owners of files")
def test_in_the_home_of_another_user_nothing_is_made(undecided, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert _program_store.current_store() is None
    assert list(undecided.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_folder_that_all_may_write_to_is_not_used_with_one_warning(undecided):
    (undecided / "lrrf_jax/xla").mkdir(parents=True)
    (undecided / "lrrf_jax/xla").chmod(0o777)
    with pytest.warns(UserWarning, match="other users may write"):
        _program_store.current_store()
    assert _program_store.current_store() is None  # and no second one, which would be an error
