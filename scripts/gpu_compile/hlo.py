"""Read optimized HLO: instructions, the Python functions they come from, the bytes they move."""

import collections
import dataclasses
import math
import re

_BITS = {"pred": 8, "s4": 4, "u4": 4, "bf16": 16}
_BITS |= {f"{kind}{bits}": bits for kind in "suf" for bits in (8, 16, 32, 64)}
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_WARP = 32


@dataclasses.dataclass
class Instruction:
    """One line of a computation."""

    name: str
    type: str
    opcode: str
    operands: list[str]
    rest: str  # what follows the operands: attributes and metadata
    is_root: bool

    def attribute(self, pattern: str) -> str | None:
        """Find the first group of a regular expression among the attributes."""
        found = re.search(pattern, self.rest)
        return found.group(1) if found else None

    @property
    def n_bytes(self) -> int:
        """Size of the result."""
        return sum(math.prod(size) * _BITS.get(kind, 0) // 8 for kind, size in _shapes(self.type))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result, of the first of several."""
        return next((size for _, size in _shapes(self.type)), ())


def _shapes(text: str) -> list[tuple[str, tuple[int, ...]]]:
    found = re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", text)
    return [(kind, tuple(int(n) for n in sizes.split(",") if n)) for kind, sizes in found]


class Module:
    """A program as XLA optimized it. Names of instructions are unique in it."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}
        self._tables: dict[str, dict[int, str]] = collections.defaultdict(dict)
        self._read(text)
        self._named = {i.name: i for lines in self.computations.values() for i in lines}

    def _read(self, text: str) -> None:
        current, table = None, ""
        for line in text.splitlines():
            stripped = line.strip()
            if stripped in _TABLES:
                table = stripped
            elif stripped.endswith("{") and "->" in stripped and not line.startswith(" "):
                name = re.match(r"(?:ENTRY )?%?([\w.\-]+)", stripped).group(1)
                current = self.computations[name] = []
            elif stripped == "}":
                current = None
            elif current is not None and " = " in stripped:
                current.append(_instruction(stripped))
            elif current is None and (found := re.match(r"(\d+) (.*)$", stripped)):
                self._tables[table][int(found.group(1))] = found.group(2)

    def find(self, name: str) -> Instruction | None:
        """Look an instruction up."""
        return self._named.get(name)

    def functions_of(self, instruction: Instruction) -> list[str]:
        """Name the Python functions that an instruction comes from, innermost first."""
        names, frame = [], int(instruction.attribute(r"stack_frame_id=(\d+)") or 0)
        while frame > 0:
            entry = self._tables["StackFrames"].get(frame, "")
            place = self._tables["FileLocations"].get(_number(entry, "file_location_id"), "")
            name = self._tables["FunctionNames"].get(_number(place, "function_name_id"), "")
            names.append(name.strip('"'))
            # Written one higher than it is: that of the first frame, which has none, is 1.
            frame = _number(entry, "parent_frame_id") - 1
        return names

    def traffic(self, instruction: Instruction) -> tuple[int, float]:
        """Bytes that a kernel reads and writes, and the values that it gathers or scatters.

        What a gather or slice reads counts at the size of what is taken. Of a gather of rows, up
        to a warp of neighbours counts as one value.
        """
        body = self.computations.get(instruction.attribute(r"calls=%([\w.\-]+)") or "")
        if instruction.opcode != "fusion" or body is None:
            return self._traffic_of_one(instruction)
        users = collections.defaultdict(list)
        for inner in body:
            for operand in inner.operands:
                users[operand].append(inner)
        n_bytes = sum(
            min(inner.n_bytes, sum(self._read_by(user, inner) for user in users[inner.name]))
            for inner in body
            if inner.opcode == "parameter"
        )
        root = next((inner for inner in body if inner.is_root), body[-1])
        results = [root] if root.opcode != "tuple" else list(map(self.find, root.operands))
        for result in results:
            while result.opcode in ("bitcast", "copy"):
                result = self.find(result.operands[0])
            if result.opcode not in ("dynamic-update-slice", "scatter"):  # these write in place
                n_bytes += result.n_bytes
        return n_bytes, sum(map(self._singly, body))

    def _traffic_of_one(self, it: Instruction) -> tuple[int, float]:
        if it.opcode in ("gather", "dynamic-slice"):
            return 2 * it.n_bytes, self._singly(it)
        if it.opcode in ("scatter", "dynamic-update-slice"):
            return 3 * self._update(it).n_bytes, self._singly(it)
        return it.n_bytes + sum(self.find(operand).n_bytes for operand in it.operands), 0

    def _read_by(self, user: Instruction, parameter: Instruction) -> int:
        if user.operands[0] == parameter.name:
            if user.opcode in ("dynamic-slice", "gather"):
                return user.n_bytes
            if user.opcode in ("dynamic-update-slice", "scatter"):
                return 2 * self._update(user).n_bytes
        return parameter.n_bytes

    def _update(self, it: Instruction) -> Instruction:
        return self.find(it.operands[1 if it.opcode == "dynamic-update-slice" else -1])

    def _singly(self, it: Instruction) -> float:
        if it.opcode == "scatter":
            return math.prod(self._update(it).shape)
        if it.opcode != "gather":
            return 0
        sizes = [int(n) for n in it.attribute(r"slice_sizes=\{([\d,]+)\}").split(",")]
        whole_sizes = self.find(it.operands[0]).shape
        run = 1
        for size, whole in zip(reversed(sizes), reversed(whole_sizes), strict=True):
            run *= size
            if size < whole:
                break
        return math.prod(it.shape) / min(_WARP, max(1, run))


def _number(text: str, key: str) -> int:
    found = re.search(rf"{key}=(\d+)", text)
    return int(found.group(1)) if found else 0


def _instruction(line: str) -> Instruction:
    left, right = line.split(" = ", 1)
    end = _closing(right, 0) + 1 if right.startswith("(") else right.index(" ")
    type_, right = right[:end], right[end:].strip()
    opening = right.index("(")
    closing = _closing(right, opening)
    return Instruction(
        name=left.removeprefix("ROOT ").lstrip("%"),
        type=type_,
        opcode=right[:opening],
        operands=re.findall(r"%([\w.\-]+)", right[opening:closing]),
        rest=right[closing:],
        is_root=left.startswith("ROOT "),
    )


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text) - 1
