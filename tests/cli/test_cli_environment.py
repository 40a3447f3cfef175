"""What a user sets for JAX in the environment changes no model."""

import pytest


@pytest.mark.slow
def test_jax_variables_change_no_byte_of_a_model(lrrf, lrrf_process, toy, tmp_path, monkeypatch):
    train = ("train", toy, "--features", "A*", "--learner", "rpc", "--seed", "0", "--model")
    assert lrrf(*train, tmp_path / "plain.lrrf")[0] == 0
    for variable, value in (
        ("JAX_ENABLE_X64", "1"),
        ("JAX_NUMPY_RANK_PROMOTION", "raise"),
        ("JAX_DEBUG_NANS", "1"),
        ("JAX_DISABLE_JIT", "1"),
        ("JAX_TRANSFER_GUARD_HOST_TO_DEVICE", "disallow"),
        ("JAX_THREEFRY_PARTITIONABLE", "0"),
    ):
        monkeypatch.setenv(variable, value)
    code, _, err = lrrf_process(*train, tmp_path / "set.lrrf")
    assert (code, "error" in err) == (0, False)
    assert (tmp_path / "set.lrrf").read_bytes() == (tmp_path / "plain.lrrf").read_bytes()
