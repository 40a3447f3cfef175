"""Count what a program makes a GPU do, and model the time that it takes.

The counts are facts of the compiler. The time is a MODEL, good to a factor of two at best; each
constant is an assumption about an H200 (SXM):

- a kernel or copy takes the longest of: ``LEAST_US``, its bytes at 80 % of the bandwidth, its
  gathered values at one lane a cycle and multiprocessor, its PTX instructions at half the rate of
  issue; but never less than what launching it costs, by itself or in a CUDA graph;
- launching a CUDA graph takes ``GRAPH_US``;
- before each round of a loop whose length XLA does not know, and once at its end, one byte comes to
  the host, and the host waits: ``WAIT_US``. So it does before a branch outside of CUDA graphs.
"""

import collections
import dataclasses
from collections.abc import Mapping

from gpu_compile.hlo import Instruction, Module
from gpu_compile.launches import Kernel, Thunk

LAUNCH_US, GRAPH_NODE_US, GRAPH_US, WAIT_US, LEAST_US = 2.5, 1.2, 5.0, 12.0, 1.5
BYTES_A_US = 0.8 * 4.8e6
GATHERED_A_US = 231e3
INSTRUCTIONS_A_US = 0.5 * 132 * 128 * 1755  # of threads
UNTIMED = "fusion_barrier"  # its loop never runs


@dataclasses.dataclass
class Loop:
    """A loop of the program."""

    function: str  # that it is written in
    rounds: float
    is_known: bool  # whether XLA knows how many; else the host waits
    entered: float
    depth: int


@dataclasses.dataclass
class Totals:
    """Sums over all that is launched."""

    kernels: float = 0
    copies: float = 0
    graphs: float = 0
    host_waits: float = 0
    n_bytes: float = 0
    gathered: float = 0
    instructions: float = 0
    us: float = 0  # a model

    def add(self, other: "Totals", times: float = 1) -> None:
        """Add what happens so many times."""
        for field in dataclasses.fields(self):
            more = times * getattr(other, field.name)
            setattr(self, field.name, getattr(self, field.name) + more)


class Count:
    """Walk the thunks of a program.

    ``rounds`` has, by the function that a loop is written in, how often it runs where XLA does not
    know; ``kernel_rounds`` is the length of the longest loop within a kernel.
    """

    def __init__(
        self,
        thunks: list[Thunk],
        module: Module,
        kernels: Mapping[str, Kernel],
        rounds: Mapping[str, float],
        kernel_rounds: float = 1,
    ) -> None:
        self._module, self._kernels = module, kernels
        self._rounds, self._kernel_rounds = rounds, kernel_rounds
        self.loops: list[Loop] = []
        self.by_kernel: dict[str, Totals] = collections.defaultdict(Totals)
        self.functions: dict[str, list[str]] = {}  # of each kernel, innermost first
        self.totals = self._all(thunks, 1, 0, in_graph=False)

    def instructions_in(self, function: str) -> float:
        """Sum the instructions of kernels whose result comes from within a function."""
        return sum(
            totals.instructions
            for kernel, totals in self.by_kernel.items()
            if function in map(last_name, self.functions[kernel])
        )

    def guessed(self) -> list[str]:
        """Name the functions whose loops were taken to run once, for want of anything better."""
        known = {*self._rounds, UNTIMED}
        return sorted({loop.function for loop in self.loops if not loop.is_known} - known)

    def _all(self, thunks: list[Thunk], times: float, depth: int, *, in_graph: bool) -> Totals:
        totals = Totals()
        for thunk in thunks:
            totals.add(self._one(thunk, times, depth, in_graph))
        return totals

    def _one(self, thunk: Thunk, times: float, depth: int, in_graph: bool) -> Totals:
        if thunk.kind == "kWhile":
            return self._loop(thunk, times, depth, in_graph)
        if thunk.kind == "kConditional":
            branches = [
                self._all(branch, times, depth, in_graph=in_graph)
                for branch in thunk.sections.values()
            ]
            totals = Totals() if in_graph else Totals(host_waits=1, us=WAIT_US)
            totals.add(max(branches, key=lambda branch: branch.us))
            return totals
        if thunk.kind == "kCommandBuffer":
            totals = Totals(graphs=1, us=GRAPH_US)
            totals.add(self._all(thunk.sections[""], times, depth, in_graph=True))
            return totals
        if thunk.sections:
            parts = [part for section in thunk.sections.values() for part in section]
            return self._all(parts, times, depth, in_graph=in_graph)
        return self._launch(thunk, times, in_graph)

    def _loop(self, thunk: Thunk, times: float, depth: int, in_graph: bool) -> Totals:
        instruction = self._module.find(thunk.instruction)
        known = instruction.attribute(r'"known_trip_count":{"n":"(\d+)"')
        function = self._function_of(instruction)
        rounds = float(known) if known else self._rounds.get(function, function != UNTIMED)
        self.loops.append(Loop(function, rounds, known is not None, times, depth))
        totals = Totals()
        body = thunk.sections["body"]
        totals.add(self._all(body, times * rounds, depth + 1, in_graph=in_graph), rounds)
        if not known:
            asked = rounds + 1
            condition = thunk.sections["condition"]
            totals.add(self._all(condition, times * asked, depth + 1, in_graph=in_graph), asked)
            if not in_graph:
                totals.add(Totals(host_waits=1, us=WAIT_US), asked)
        return totals

    def _launch(self, thunk: Thunk, times: float, in_graph: bool) -> Totals:
        instruction = self._module.find(thunk.instruction)
        n_bytes, gathered = self._module.traffic(instruction) if instruction else (0, 0)
        kernel = self._kernels.get(thunk.kernel, Kernel(0, 0, collections.Counter()))
        per_thread = kernel.n_instructions + (self._kernel_rounds - 1) * kernel.n_in_loop
        instructions = thunk.n_threads * per_thread
        took = max(
            LEAST_US,
            n_bytes / BYTES_A_US,
            gathered / GATHERED_A_US,
            instructions / INSTRUCTIONS_A_US,
        )
        is_copy = "Copy" in thunk.kind or thunk.kind.startswith("kMem")
        launched = Totals(
            kernels=not is_copy,
            copies=is_copy,
            n_bytes=n_bytes,
            gathered=gathered,
            instructions=instructions,
            us=max(took, GRAPH_NODE_US if in_graph else LAUNCH_US),
        )
        name = thunk.kernel or thunk.instruction
        self.by_kernel[name].add(launched, times)
        if instruction:
            self.functions[name] = self._module.functions_of(instruction)
        else:
            self.functions.setdefault(name, [])
        return launched

    def _function_of(self, instruction: Instruction) -> str:
        names = map(last_name, self._module.functions_of(instruction))
        return next((name for name in names if not name.startswith("<")), "?")


def last_name(qualified: str) -> str:
    """Take the name of a function itself: ``f.<locals>.g`` is called g here."""
    return qualified.rsplit(".", 1)[-1]
