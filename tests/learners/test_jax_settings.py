"""A caller's settings of JAX change no number and break no learner."""

import concurrent.futures
import contextlib
import functools
import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax._src import config
from jax._src.config import State

import lrrf_jax
from lrrf_jax import LEARNERS
from lrrf_jax._jax_settings import _OURS, our_settings
from tests.learners.test_contract import PARTIAL_Y, WEIGHT, X, make, quiet_fit, traces

pytestmark = pytest.mark.usefixtures("hot")  # NumPy does not look at settings of JAX

# Another value of each setting that can reach a program, or the calls that run it.
OTHER = {
    "array_garbage_collection_guard": "log",
    "check_static_indices": True,
    "check_tracer_leaks": True,
    "custom_vjp3": True,
    "debug_infs": True,
    "debug_key_reuse": True,
    "debug_nans": True,
    "default_device": "cpu",
    "default_matmul_precision": "bfloat16",
    "default_prng_impl": "rbg",
    "disable_bwd_checks": True,
    "disable_jit": True,
    "disable_vmap_shmap_error": True,
    "disallow_mesh_context_manager": True,
    "eager_constant_folding": True,
    "embedded_constants_max_bytes": 0,
    "enable_checks": True,
    "enable_custom_prng": True,
    "enable_remat_opt_pass": False,
    "enable_x64": True,
    "error_checking_behavior_divide": "raise",
    "error_checking_behavior_nan": "raise",
    "error_checking_behavior_oob": "raise",
    "exec_time_optimization_effort": 0.5,
    "explain_cache_misses": True,
    "explicit_x64_dtypes": "error",
    "include_full_tracebacks_in_locations": False,
    "legacy_prng_key": "error",
    "log_checkpoint_residuals": True,
    "log_compiles": True,
    "memory_fitting_effort": 0.5,
    "memory_fitting_level": "O3",
    "mutable_array_checks": False,
    "no_execution": True,
    "no_tracing": True,
    "numpy_dtype_promotion": "standard",  # tests run with "strict"
    "numpy_rank_promotion": "raise",
    "optimization_level": "O2",
    "random_seed_offset": 7,
    "refs_to_pins": True,
    "remat3": True,
    "remove_size_one_mesh_axis_from_type": True,
    "scan3": True,
    "softmax_custom_jvp": True,
    "thread_guard": True,
    "threefry_gpu_kernel_lowering": True,
    "threefry_partitionable": False,
    "transfer_guard_device_to_device": "disallow",
    "transfer_guard_device_to_host": "disallow_explicit",
    "transfer_guard_host_to_device": "disallow",
    "use_direct_linearize": False,
    "use_high_dynamic_range_gumbel": True,
    "use_shardy_partitioner": False,
    "use_simplified_jaxpr_constants": True,
    "xla_runtime_errors": True,
}
# About devices, caches, exports, logs and other packages: nothing that a program computes.
ELSEWHERE = (
    *("_check_vma", "_transfer_guard", "allow_f16_reductions", "auto_pcast"),
    *("bcoo_cusparse_lowering", "captured_constants", "compilation_cache", "cpu_collectives"),
    *("debug_leaked", "distributed_debug", "enable_compilation_cache", "enable_pgle", "export_"),
    *("gpu_use_magma", "hlo_source", "jax2tf", "jax_export", "jax_mosaic", "jax_pallas"),
    *("jax_pjrt", "jax_platforms", "jax_ragged_dot", "jax_serialization", "jax_xla_profile"),
    *("persistent_cache", "pgle_", "raise_persistent", "remove_custom", "send_traceback"),
    *("share_binary", "source_url", "traceback_", "use_emit_pipeline"),
)
SETTINGS = [name for name in OTHER if hasattr(config, name)]


def results(name):
    learner = quiet_fit(make(name), X, PARTIAL_Y, WEIGHT)
    answers = [learner.predict(X), learner.predict(X[:1]), learner.predict_scores(X)]
    if hasattr(learner, "apply"):
        answers.append(learner.apply(X))
    if hasattr(learner, "neighbors"):
        answers.extend(learner.neighbors(X[:3]))
    answers.append(np.array(learner.score(X, PARTIAL_Y, WEIGHT)))
    return answers


undisturbed = functools.cache(results)


def assert_nothing_changes(name, setting, value):
    expected = undisturbed(name)
    with getattr(config, setting)(value):
        before = getattr(config, setting).value
        found = results(name)
        assert getattr(config, setting).value == before  # what is ours does not leak
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")  # some settings warn of what they are for
@pytest.mark.parametrize("setting", SETTINGS)
def test_no_setting_of_the_caller_changes_a_number(setting):
    # What is not ours compiles every program once more: all learners take minutes.
    for name in ("lr-rf", "rpc", "cc", "ib-pl") if setting in _OURS else ("default",):
        assert_nothing_changes(name, setting, OTHER[setting])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", LEARNERS)
def test_no_setting_of_the_caller_changes_a_number_of_any_learner(name, setting):
    assert_nothing_changes(name, setting, OTHER[setting])


@pytest.mark.slow
def test_a_compiler_told_to_optimise_little_changes_no_rank(tmp_path):
    """A flag of the process, out of our reach: sums of floats may end in other bits, no more."""
    script = (
        "import json, sys\n"
        "from tests.learners.test_jax_settings import results\n"
        "print(json.dumps({name: results(name)[0].tolist() for name in sys.argv[1:]}))"
    )
    names = ["lr-rf", "rpc", "ll", "cc", "ib-pl", "default"]
    done = subprocess.run(
        [sys.executable, "-c", script, *names],
        env=os.environ
        | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    ranks = json.loads(done.stdout)
    assert ranks == {name: undisturbed(name)[0].tolist() for name in names}


def test_every_setting_that_jax_has_is_tried_or_lies_elsewhere():
    if jax.__version__ != "0.10.2":
        pytest.skip("another version may have settings of its own")
    states = {name for name, value in vars(config).items() if isinstance(value, State)}
    assert len(states) > 90
    assert set(OTHER) <= states
    untried = states - set(OTHER)
    assert [name for name in untried if not name.startswith(ELSEWHERE)] == []


def test_settings_that_are_ours_need_no_program_of_their_own():
    results("rpc")  # not `undisturbed`: its programs may have been dropped since
    with contextlib.ExitStack() as stack:
        for setting in _OURS:
            if setting in OTHER and hasattr(config, setting):
                stack.enter_context(getattr(config, setting)(OTHER[setting]))
        with traces() as seen:
            results("rpc")
        assert not seen


def test_settings_hold_in_the_threads_that_rank_long_tables(tmp_path):
    many = np.tile(X, (700, 1))  # 42,000 rows, which are spread over threads
    ranker = make("rpc").fit(X, np.argsort(np.argsort(X[:, :3], 1), 1) + 1.0)
    expected = ranker.predict(many)
    jax.config.update("jax_enable_x64", True)  # for all threads
    try:
        jax.config.update("jax_numpy_rank_promotion", "raise")
        np.testing.assert_array_equal(ranker.predict(many), expected)
        ranker.save(tmp_path / "m.lrrf")
        np.testing.assert_array_equal(lrrf_jax.load(tmp_path / "m.lrrf").predict(many), expected)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for ranks in pool.map(ranker.predict, [many, many[:50]]):
                np.testing.assert_array_equal(ranks, expected[: len(ranks)])
        assert jax.numpy.ones(1).dtype == np.float64  # the caller's programs see their settings
    finally:
        jax.config.update("jax_enable_x64", False)
        jax.config.update("jax_numpy_rank_promotion", "allow")


def test_a_caller_who_changes_nothing_pays_nothing():
    assert our_settings() is our_settings()
    with jax.enable_x64(True):
        with our_settings():
            assert not jax.config.jax_enable_x64
            with pytest.raises(ZeroDivisionError), our_settings():
                raise ZeroDivisionError
            assert not jax.config.jax_enable_x64
        assert jax.config.jax_enable_x64
