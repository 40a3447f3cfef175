"""What programs look like that are lowered for a GPU; no GPU is needed, nor the plugin."""

import collections

import jax
import pytest
from gpu_compile.programs import make_program

from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from tests.gpu.programs import options

LIBRARY = {"log", "log_plus_one", "exponential", "exponential_minus_one", "power", "tanh", "sqrt"}


def operations(program):
    """Lower a program for a GPU; yield its operations."""
    traced = program.function.trace(*program.arguments, **program.static)
    module = traced.lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")
    waiting = [module.operation]
    while waiting:
        operation = waiting.pop()
        yield operation
        waiting += [inner.operation for r in operation.regions for b in r for inner in b]


def is_constant(value):
    """Whether a value is one that the program states, however it is spread or converted."""
    while not hasattr(value.owner, "arguments"):  # those of blocks are arguments
        operation = value.owner
        if operation.name == "stablehlo.constant":
            return True
        if operation.name not in ("stablehlo.broadcast_in_dim", "stablehlo.convert"):
            return False
        value = operation.operands[0]
    return False


def counts(program):
    found = collections.Counter()
    for operation in operations(program):
        name = operation.name.removeprefix("stablehlo.")
        if name == "divide" and str(operation.results[0].type.element_type) == "f32":
            found["division by a variable"] += not is_constant(operation.operands[1])
        found["while"] += name == "while"
        found["library"] += name in LIBRARY
        found["operations"] += 1
    return found


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("what", ["ranks", "scores"])
def test_rows_pass_a_forest_with_one_loop_at_most_and_one_over_labels_for_scores(what, aggregation):
    found = counts(make_program(options(what, aggregation=aggregation)))
    assert found["operations"] > 50
    assert found["while"] <= 1 + (what == "scores") + (aggregation == "kemeny")
    assert found["division by a variable"] == found["library"] == 0


def test_a_deep_forest_of_many_thresholds_is_walked_with_one_loop_at_most():
    found = counts(make_program(options("ranks", depth=12, thresholds=1000)))
    assert found["while"] <= 1


@pytest.mark.skipif(
    jax.__version_info__ >= (0, 11), reason="later JAX lowers Triton beside a GPU only"
)
def test_the_kernel_that_is_off_by_default_is_one_call_of_triton():
    operations_ = list(operations(make_program(options("ranks", pallas=True))))
    called = [o.attributes for o in operations_ if o.name == "stablehlo.custom_call"]
    assert ["triton" in str(attributes["call_target_name"]) for attributes in called] == [True]
    assert not any(o.name == "stablehlo.while" for o in operations_)


def test_leaves_are_found_with_one_loop_at_most():
    assert counts(make_program(options("apply")))["while"] <= 1


@pytest.mark.parametrize("criterion", ["tlac", "rac", "pairwise", "positions"])
def test_trees_grow_with_five_loops_at_most(criterion):
    found = counts(make_program(options("grow", rows=150, criterion=criterion)))
    assert found["while"] <= 5
    assert found["division by a variable"] == found["library"] == 0
