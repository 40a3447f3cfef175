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
