"""A bit-sliced traversal in C, compiled where there is a compiler: how far XLA is from it."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.trees.forest import Forest, with_depth

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
NO_AVX512 = "-mno-avx512f"
_DEPTH, _GROUP = 8, 4  # as the C source says


class NotAvailable(Exception):
    """A peer cannot be run here; the message says why."""


def has_avx512() -> bool:
    """Whether the processor has vectors of 512 bits; told on Linux only."""
    try:
        return "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def compile_source(source: pathlib.Path, *flags: str) -> ctypes.CDLL:
    """Compile the C file, with more flags than `FLAGS` if need be, and load it.

    Raises
    ------
    NotAvailable
        Without the file or a compiler, or where the compiler refuses.
    """
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not source.is_file():
        raise NotAvailable(f"{source.name} is not there")
    if compiler is None:
        raise NotAvailable("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "reference.so")
        done = subprocess.run(
            [compiler, *FLAGS, *flags, str(source), "-o", library],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotAvailable(f"{compiler}: {(done.stderr.splitlines() or ['failed'])[0]}")
        return ctypes.CDLL(library)  # stays mapped when the file is gone


def c_ranker(library: ctypes.CDLL, forest: Forest) -> Callable[[NDArray], NDArray]:
    """Return a function from float32 rows to int32 ranks (two-step aggregation)."""
    if forest.depth > _DEPTH:
        raise NotAvailable(f"written for trees of depth {_DEPTH}")
    if np.asarray(forest.missing_left).any():
        raise NotAvailable("written for trees that send missing values right")
    n_trees, n_labels = forest.n_trees, forest.n_outputs
    forest = with_depth(forest, _DEPTH)  # that of the kernel
    feature, threshold = np.asarray(forest.feature), np.asarray(forest.threshold)
    order = _preorder(_DEPTH)
    pairs = np.rec.fromarrays([feature[:, order].ravel(), threshold[:, order].ravel()])
    questions, of_node = np.unique(pairs, return_inverse=True)
    pad = -n_trees % _GROUP
    of_node = np.pad(of_node.reshape(n_trees, -1), ((0, pad), (0, 0))).astype(np.int32)
    width = -(-n_labels // 8) * 8
    leaves = np.zeros((n_trees + pad, 2**_DEPTH, width), np.uint16)
    leaves[:n_trees, :, :n_labels] = np.asarray(forest.leaf_value)[np.asarray(forest.leaf_slot)]
    # The vectors of the kernel must lie on whole multiples of their size.
    leaves = _aligned(leaves)
    question_feature = np.ascontiguousarray(questions["f0"], np.int32)
    question_threshold = np.ascontiguousarray(questions["f1"], np.float32)

    def rank(features: NDArray) -> NDArray:
        features = np.ascontiguousarray(features, np.float32)
        ranks = np.empty((len(features), n_labels), np.int32)
        failed = library.rank_rows(
            _pointer(features),
            ctypes.c_int64(len(features)),
            features.shape[1],
            n_labels,
            len(questions),
            _pointer(question_feature),
            _pointer(question_threshold),
            n_trees + pad,
            _pointer(of_node),
            _pointer(leaves),
            _pointer(ranks),
        )
        if failed:
            raise NotAvailable("too many labels" if failed == 2 else "not enough memory")
        return ranks

    return rank


def _preorder(depth: int) -> NDArray:
    """Breadth-first numbers of the nodes: root, then its left and its right subtree."""
    numbers: list[int] = []

    def visit(node: int) -> None:
        if node < 2**depth - 1:
            numbers.append(node)
            visit(2 * node + 1)
            visit(2 * node + 2)

    visit(0)
    return np.array(numbers)


def _aligned(array: NDArray, to: int = 64) -> NDArray:
    room = np.empty(array.nbytes + to, np.uint8)
    start = -room.ctypes.data % to
    out = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def _pointer(array: NDArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
