"""Shared fixtures: strict dtype promotion, so that no test passes thanks to a silent widening.

Properties see the same examples in every run. To look for new ones:
``HYPOTHESIS_PROFILE=hunt scripts/test.sh tests/rankings``.
"""

import os
from unittest import mock

import jax
import pytest
from hypothesis import Phase, settings
from jax._src import compilation_cache, config

from lrrf_jax._program_store import ProgramStore, chosen_store, use_store
from lrrf_jax._programs import forget_programs

collect_ignore = ["typing"]  # programs for type checkers, which are not run

settings.register_profile("fixed", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("hunt", deadline=None, max_examples=2000)
settings.register_profile(  # which need not find the least example that fails
    "mutants",
    deadline=None,
    max_examples=24,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
# Of tests nothing goes into the cache of whoever runs them: some replace parts of the package.
os.environ["LRRF_JAX_CACHE"] = "0"

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(autouse=True)
def _strict_dtype_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture
def hot(monkeypatch):
    """Let forests use their programs from the first call on, as after many."""
    monkeypatch.setattr("lrrf_jax.learners.forest.few_rows._CELLS_TO_COMPILE", 0)


# ------------------------------------------------------------------------ programs that are kept
@pytest.fixture
def store(tmp_path):
    """Keep programs in a folder, as where nobody said anything."""
    before = chosen_store()
    store = ProgramStore(str(tmp_path))
    use_store(store)
    jax.clear_caches()  # what is in memory already is not known to be compiled from nothing
    # Besides the directory: JAX makes its cache once per process, and takes what is in it.
    with (
        config.compilation_cache_dir(None),
        mock.patch.object(compilation_cache, "is_cache_used", return_value=False),
    ):
        yield store
    use_store(*before)
    forget_programs()


@pytest.fixture
def traced():
    """Names of the functions that JAX traces, which no kept program needs."""
    names = []

    def note(event, seconds, fun_name="", **_):
        if event.endswith("jaxpr_trace_duration"):
            names.append(fun_name)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield names
    jax.monitoring.unregister_event_duration_listener(note)
