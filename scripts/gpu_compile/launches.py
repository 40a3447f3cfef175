"""Read what the host does for a program: XLA's tree of thunks, and the PTX of the kernels.

A *thunk* is one action of the host: it launches a kernel, starts a copy, runs a loop round by
round, or launches a CUDA graph ("command buffer") of other thunks.
"""

import collections
import dataclasses
import math
import pathlib
import re
import subprocess

# What makes results differ between devices, or costs where it should not.
WATCHED = {
    "div.full": r"\bdiv\.full\.f32",
    "atom.cas": r"\batom\.[\w.]*cas",
    "lg2.approx": r"\blg2\.approx",
    "fma.rn.f32": r"\bfma\.rn\.f32",
}


@dataclasses.dataclass
class Thunk:
    """One action of the host; of a loop or a branch, the actions within by section."""

    kind: str
    instruction: str  # name in the optimized HLO
    kernel: str = ""  # name in the PTX
    n_threads: int = 0
    sections: dict[str, list["Thunk"]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list)
    )


def read_thunks(folder: pathlib.Path) -> list[Thunk]:
    """Read the dumped tree: its last form, with CUDA graphs, where there is one."""
    dumps = sorted(folder.glob("*thunk_sequence*.txt"), key=lambda path: "after" in path.name)
    metadata = next(folder.glob("*thunk_metadata.txt")).read_text()
    named = {}
    for entry in metadata.split("thunk_metadata {")[1:]:
        name = re.search(r'profile_annotation: "(.*?)"', entry)
        number = re.search(r"thunk_id: (\d+)", entry)
        if name and number:
            named[int(number.group(1))] = name.group(1)
    return parse_thunks(dumps[-1].read_text(), named)


def parse_thunks(text: str, named: dict[int, str]) -> list[Thunk]:
    """Read a tree from its text; ``named`` has the instruction of each number."""
    root = Thunk("kSequential", "")
    open_ = [(-1, root, "")]  # indentation, thunk and section of all that the next line may be in
    for line in text.splitlines():
        if found := re.match(r"( *)(\d+): (k\w+)(.*)", line):
            indent, number, kind, rest = len(found[1]), int(found[2]), found[3], found[4]
            thunk = Thunk(kind, named.get(number, ""))
            if launch := re.search(r"\] +(\S+) grid: \[(.*?)\] threads: \[(.*?)\]", rest):
                thunk.kernel = launch[1]
                thunk.n_threads = math.prod(map(int, f"{launch[2]},{launch[3]}".split(",")))
            while open_[-1][0] >= indent:
                open_.pop()
            open_[-1][1].sections[open_[-1][2]].append(thunk)
            open_.append((indent, thunk, ""))
        elif found := re.search(r"( *)(\w+):$", line):
            # XLA indents all of these but "condition", which follows its loop.
            while found[2] != "condition" and open_[-1][0] > len(found[1]) - 2:
                open_.pop()
            open_[-1] = (*open_[-1][:2], found[2])
    return root.sections[""]


@dataclasses.dataclass
class Kernel:
    """The PTX of a kernel."""

    n_instructions: int
    n_in_loop: int  # of these, in the longest loop
    found: collections.Counter  # of WATCHED


def read_kernels(folder: pathlib.Path) -> dict[str, Kernel]:
    """Count the instructions of a thread of each kernel."""
    kernels = {}
    for path in folder.glob("*.ptx"):
        for name, body in re.findall(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", path.read_text(), re.S):
            kernels[name] = parse_kernel(body)
    return kernels


def parse_kernel(body: str) -> Kernel:
    """Count the instructions in the text of a kernel."""
    labels: dict[str, int] = {}
    count = in_loop = 0
    for line in map(str.strip, body.splitlines()):
        if label := re.match(r"(\$\w+):", line):
            labels[label[1]] = count
        elif line.endswith(";") and not line.startswith("."):
            count += 1
            back = re.search(r"\bbra(?:\.uni)?\s+(\$\w+)", line)
            if back and back[1] in labels:
                in_loop = max(in_loop, count - labels[back[1]])
    found = {name: len(re.findall(pattern, body)) for name, pattern in WATCHED.items()}
    return Kernel(count, in_loop, collections.Counter(found))


def registers(folder: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Let ptxas assemble each kernel: registers of a thread, bytes that it spills."""
    from importlib.util import find_spec

    [place] = find_spec("nvidia.cuda_nvcc").submodule_search_locations
    found = {}
    for path in folder.glob("*.ptx"):
        command = [f"{place}/bin/ptxas", "-v", "-arch=sm_90a", path, "-o", "/dev/null"]
        told = subprocess.run(command, capture_output=True, text=True).stderr
        pattern = r"entry function '(\S+)'.*?\n(.*?)Used (\d+) registers"
        for name, between, used in re.findall(pattern, told, re.S):
            spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", between))
            found[name] = int(used), spilled
    return found
