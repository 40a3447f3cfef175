"""Walk a program as JAX traced it, for float operations whose last bit depends on the device.

Each fault is one of

``division``          by something that is no constant: GPUs approximate it
``library function``  such as a logarithm: every library has its own
``multiply-add``      a product that is added at once: CPUs may round once, GPUs round twice
``sum``               of floats, in an order that a compiler chooses
"""

import jax
import numpy as np
from jax._src import source_info_util
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_LIBRARY = {"log", "log1p", "exp", "exp2", "expm1", "pow", "tanh", "logistic", "sin", "cos", "tan"}
_LIBRARY |= {
    "sqrt",
    "rsqrt",
    "cbrt",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "digamma",
    "atan2",
    "acos",
}
_MOVES = {"reshape", "broadcast_in_dim", "transpose", "squeeze", "slice", "dynamic_slice", "gather"}
_MOVES |= {"rev", "copy", "copy_p", "neg", "stop_gradient", "convert_element_type", "expand_dims"}
_OPEN_SUMS = {
    "reduce_sum",
    "cumsum",
    "scatter-add",
    "scatter_add",
    "dot_general",
    "reduce_window_sum",
}
_EXACT_SUMS = ("(take_in_order)",)  # of one number and zeros
# What CPUs round once, accelerators compute from parts to the same number.
_ROUNDED_ONCE = ("(multiply_add.", "(_at_share.")
_CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")

PRODUCT, OTHER = "product", "other"  # what is known of a value; or an array, where it is constant


def faults(function, *arguments, **static) -> dict[str, str]:
    """Faults of a jitted function: where they stand, and what they are.

    Of what CPUs run, where it differs, only ``multiply-add`` is one: their quotients and square
    roots are exact, and their own libraries are what others have to agree with.
    """
    closed = function.trace(*arguments, **static).jaxpr
    found = {}
    for platform in ("cpu", "cuda"):
        walk = _Walk(platform)
        walk.run(closed.jaxpr, [OTHER] * len(closed.in_avals), closed.consts)
        for where, fault in walk.found.items():
            meant = any(name in where for name in _ROUNDED_ONCE)
            if platform == "cuda" or (fault == "multiply-add" and not meant):
                found[where] = fault
    return found


class _Walk:
    def __init__(self, platform):
        self.platform, self.found = platform, {}

    def run(self, jaxpr: Jaxpr, inputs: list, constants=()) -> list:
        """Walk equations in order; return what is known of the results."""
        known = dict(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        known |= dict(zip(jaxpr.invars, inputs, strict=True))

        def of(atom):
            return np.asarray(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            results = self.step(equation, [of(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, results, strict=True))
        return [of(atom) for atom in jaxpr.outvars]

    def step(self, equation, operands: list) -> list:
        name = equation.primitive.name
        n_results = len(equation.outvars)
        if name == "cond":
            return self.branches(equation.params, operands[1:])
        if name in ("while", "scan"):
            self.loop(name, equation.params, operands)
            return [OTHER] * n_results
        if inner := next((equation.params[k] for k in _CALLS if k in equation.params), None):
            if name == "pallas_call":
                self.run(inner, [OTHER] * len(inner.invars))
                return [OTHER] * n_results
            return self.call(inner, operands)
        assert not any(isinstance(p, Jaxpr | ClosedJaxpr) for p in equation.params.values()) or (
            name.startswith(("scatter", "reduce", "argm", "sort", "custom"))
        ), f"this test does not know how to look into {name}"
        if not _is_float(equation):
            return [_constant(name, operands)] * n_results
        where = source_info_util.summarize(equation.source_info)
        fault = _fault(name, operands)
        if fault and not (fault == "sum" and any(name in where for name in _EXACT_SUMS)):
            self.found[where] = fault
        if name in ("mul", "integer_pow", "square") or _is_constant_division(name, operands):
            exact = any(_is_power_of_two(operand) for operand in operands)
            return [OTHER if exact else PRODUCT]
        if name in _MOVES and any(_is(operand, PRODUCT) for operand in operands):
            return [PRODUCT] * n_results
        return [_constant(name, operands)] * n_results

    def call(self, inner, operands):
        if isinstance(inner, ClosedJaxpr):
            return self.run(inner.jaxpr, operands, inner.consts)
        return self.run(inner, operands)

    def branches(self, params, operands):
        branches = params["branches"]
        if platforms := params.get("branches_platforms"):
            named = [p is not None and self.platform in p for p in platforms]
            chosen = named.index(True) if any(named) else platforms.index(None)
            return self.call(branches[chosen], operands)
        results = [self.call(branch, operands) for branch in branches]
        return [
            PRODUCT if any(_is(part, PRODUCT) for part in parts) else OTHER
            for parts in zip(*results, strict=True)
        ]

    def loop(self, name, params, operands):
        """What is carried lies in memory between two rounds, so nothing is known of it."""
        stored = [OTHER if _is(operand, PRODUCT) else operand for operand in operands]
        if name == "scan":
            inner, n_constants = params["jaxpr"], params["num_consts"]
            carried = [OTHER] * (len(inner.in_avals) - n_constants)
            self.call(inner, stored[:n_constants] + carried)
            return
        n_first = params["cond_nconsts"]
        for part, begin, size in (
            (params["cond_jaxpr"], 0, n_first),
            (params["body_jaxpr"], n_first, params["body_nconsts"]),
        ):
            carried = [OTHER] * (len(part.in_avals) - size)
            self.call(part, stored[begin : begin + size] + carried)


def _fault(name, operands):
    if name == "div" and not isinstance(operands[1], np.ndarray):
        return "division"
    if name in _LIBRARY and not all(isinstance(operand, np.ndarray) for operand in operands):
        return "library function"
    if name in _OPEN_SUMS:
        return "sum"
    if name in ("add", "sub", "add_any") and any(_is(operand, PRODUCT) for operand in operands):
        return "multiply-add"
    return None


def _is_constant_division(name, operands):
    """Whether XLA makes it a product with the inverse."""
    return name == "div" and isinstance(operands[1], np.ndarray)


def _is(known, what):
    return isinstance(known, str) and known == what


def _is_float(equation):
    return any(
        jax.numpy.issubdtype(getattr(out.aval, "dtype", np.int32), np.floating)
        for out in equation.outvars
    )


def _constant(name, operands):
    """What is made of constants alone is one, whose value does not matter here."""
    if operands and all(isinstance(operand, np.ndarray) for operand in operands):
        return operands[0] if name in _MOVES else np.array(np.nan)
    return OTHER


def _is_power_of_two(known):
    """Whether products with it are exact."""
    if not isinstance(known, np.ndarray) or not np.isfinite(known).all():
        return False
    mantissa = np.abs(np.frexp(known)[0])
    return bool(((mantissa == 0.5) | (known == 0)).all())
