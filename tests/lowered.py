"""Programs as they are lowered for a GPU, which takes none."""

import re

import jax


def lowered_for_cuda(function, *arguments, **static):
    """Lower a jitted function of (shape, dtype) pairs, or of trees of arrays, for CUDA: text."""
    shaped = [
        jax.ShapeDtypeStruct(*argument)
        if isinstance(argument, tuple) and isinstance(argument[0], tuple)
        else argument
        for argument in arguments
    ]
    return function.trace(*shaped, **static).lower(lowering_platforms=("cuda",)).as_text()


def while_loops(text):
    """Count the loops of a program, and those before each round of which the host has to look.

    XLA can tell how often a loop runs that counts to a constant, and nothing else.
    """
    conditions = re.findall(r"stablehlo\.while.*?cond \{\n(.*?)\} do", text, re.S)
    counted = re.compile(
        r"\s*\S+ = stablehlo\.constant.*\n.* stablehlo\.compare +LT.*\n.*return.*\n"
    )
    return len(conditions), sum(not counted.fullmatch(text.rstrip(" ")) for text in conditions)


def inexact_operations(text):
    """List the float32 operations that a GPU rounds in its own way.

    Those are logarithms, exponentials and the like, and divisions by what is not constant: XLA
    turns a constant divisor into a factor, on every device.
    """
    found, defined = [], {}
    for line in text.splitlines():
        if "func.func" in line:
            defined = {}
        name, _, operation = line.strip().partition(" = ")
        defined[name] = operation
        if re.match(r"stablehlo\.(log|exponential|power|tanh|rsqrt|cbrt)", operation):
            found.append(operation)
        division = re.match(r"stablehlo\.divide \S+, (\S+) : tensor<.*f32>", operation)
        if division:
            divisor = defined.get(division[1], "")
            while whole := re.match(r"stablehlo\.broadcast_in_dim (%\w+),", divisor):
                divisor = defined.get(whole[1], "")
            if not divisor.startswith("stablehlo.constant"):
                found.append(operation)
    return found
