"""Finished trees on disk, so that a fit that is cut off goes on where it was.

A checkpoint is a directory of model files, ``trees-00000-00031.lrrf`` and so on, each of which
holds some trees and says what fit they belong to. Files appear whole or not at all. Trees do not
depend on the devices or processes they were grown by, so these may change in between.
"""

import io
import os
import re
import time
from typing import Any

import jax

from lrrf_jax import _devices as mesh
from lrrf_jax import _safetensors, model_file
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, ModelFileError, OutputError
from lrrf_jax.learners.forest.aggregation import leaf_violation, numbers_in_leaf
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.content import ADDED, flatten
from lrrf_jax.learners.persistence.forests import (
    FlatBlock,
    StoredBlock,
    grown_of_flat,
    pack_grown,
    unpack_grown,
)
from lrrf_jax.trees.blocks import Grown, join_grown, take_trees

BLOCK_SECONDS = 10.0  # what is finished in this time is written together
_KIND = "block of trees"
_HEADER = {"kind": str, "first_tree": int, "fit": dict, **ADDED}
_NAME = re.compile(r"trees-(\d{5,})-(\d{5,})\.lrrf")


class Checkpoint:
    """The finished trees of one fit, in a directory.

    Where several processes grow it ``together``, the first of them reads and writes, and all of
    them make the same calls.

    Parameters
    ----------
    folder : str or path-like
        Made where it is not there.
    fit : dict of str to int, str, float or bool
        What the trees depend on, besides their numbers.
    n_features : int
    together : bool
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        fit: dict[str, Any],
        n_features: int,
        *,
        together: bool = False,
    ) -> None:
        self.folder: str = os.fspath(folder)
        self.fit = fit
        self.n_features = n_features
        self._together = together
        self._writes = not together or jax.process_index() == 0
        self._unwritten: list[Grown] = []
        self._next = 0  # the first tree that is not written
        self._written_at = time.monotonic()

    def finished(self, first_tree: int, n_trees: int) -> Grown | None:
        """Read trees ``first_tree ..``, at most ``n_trees``, as far as none is lacking.

        Raises
        ------
        InputError
            Where the directory cannot be used, or holds trees of another fit.
        ModelFileError
            For a damaged file in it.
        """
        if self._together:
            grown = self._read_together(first_tree, n_trees)
        else:
            grown = self._read(first_tree, n_trees)
        self._next = first_tree + (grown.forest.n_trees if grown else 0)
        self._written_at = time.monotonic()
        return grown

    def _read_together(self, first_tree: int, n_trees: int) -> Grown | None:
        grown, problem = None, ""
        if self._writes:
            try:
                grown = self._read(first_tree, n_trees)
            except (InputError, ModelFileError) as error:
                problem = str(error)
        # Before anyone raises, all know: a process that waits for the others would wait for ever.
        problem = mesh.of_first_process(problem.encode()).decode()
        if problem:
            raise InputError(problem)
        content = io.BytesIO()
        if grown:
            _safetensors.write(content, flatten(pack_grown(grown)), {})
        sent = mesh.of_first_process(content.getvalue())
        if not sent:
            return None
        arrays = _safetensors.loads(sent)
        n_leaves, n_splits = len(arrays["forest.leaf_value"]), len(arrays["forest.feature"])
        return self._grown(arrays, n_leaves - n_splits)

    def _read(self, first_tree: int, n_trees: int) -> Grown | None:
        try:
            os.makedirs(self.folder, exist_ok=True)
            found = map(_NAME.fullmatch, os.listdir(self.folder))
        except OSError as error:
            raise OutputError(
                f"checkpoint {self.folder}: the directory cannot be used ({error.strerror}). "
                "Name one that can be read and written."
            ) from error
        spans = sorted((int(m[1]), int(m[2]) + 1, m[0]) for m in found if m)
        end = first_tree
        parts = []
        for start, stop, name in spans:
            block = self._block(os.path.join(self.folder, name), start, stop)
            stop = min(stop, first_tree + n_trees)
            if start <= end < stop:
                parts.append(take_trees(block, end - start, stop - start))
                end = stop
        return join_grown(*parts) if parts else None

    def _block(self, path: str, start: int, stop: int) -> Grown:
        header, arrays = model_file.read_model(path)
        if header.get("kind") != _KIND:
            raise InputError(
                f"checkpoint {path}: is no block of trees. Name a directory for one checkpoint, "
                "and nothing else."
            )
        other = differing_entry(header.get("fit"), self.fit)
        if other:
            raise InputError(
                f"checkpoint {path}: belongs to another fit ({other}). Fit as then, or name an "
                "empty directory."
            )
        try:
            schema.require_entries(header, _HEADER, "the header")
            if header["first_tree"] != start:
                raise schema.Unfit("they are not those of its name")
            grown = self._grown(arrays, stop - start, header["format_version"])
        except (schema.Unfit, MemoryError) as error:
            raise ModelFileError(
                f"checkpoint {path}: holds no usable trees: {error}. Delete it; they will grow "
                "again."
            ) from error
        return grown

    def _grown(self, arrays: dict[str, NDArray], n_trees: int, format_version: int = 2) -> Grown:
        """Make trees of the arrays of a file, when all is checked; Unfit for others."""
        n_labels, aggregation = self.fit["n_labels"], self.fit["aggregation"]
        max_depth = self.fit["max_depth"]
        n_outputs = numbers_in_leaf(n_labels, aggregation)
        sizes = {"n_features": self.n_features, "n_outputs": n_outputs, "n_trees": n_trees}
        if format_version == 1:
            flat = schema.arrays_of(FlatBlock, arrays, sizes)
            grown = grown_of_flat(flat, self.n_features, max_depth)
        else:
            block = schema.arrays_of(StoredBlock, arrays, sizes)
            grown = unpack_grown(block, n_trees, max_depth)
        problem = leaf_violation(grown.forest.leaf_value, n_trees, n_labels, aggregation)
        if problem:
            raise schema.Unfit(problem)
        return grown

    def add(self, grown: Grown) -> None:
        """Take the trees that come next; they are written with others, after ten seconds."""
        if not self._writes:
            return
        self._unwritten.append(grown)
        if time.monotonic() - self._written_at >= BLOCK_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the trees that are not written yet."""
        if not self._unwritten:
            return
        grown = join_grown(*self._unwritten)
        end = self._next + grown.forest.n_trees
        model_file.write_model(
            os.path.join(self.folder, f"trees-{self._next:05d}-{end - 1:05d}.lrrf"),
            flatten(pack_grown(grown)),
            {"kind": _KIND, "first_tree": self._next, "fit": self.fit},
        )
        self._unwritten, self._next = [], end
        self._written_at = time.monotonic()


def differing_entry(theirs: Any, mine: dict[str, Any]) -> str:
    """Say in what another fit differs from this one; empty where it does not."""
    if not isinstance(theirs, dict):
        return "it does not say which"
    for name in [*mine, *theirs]:
        if theirs.get(name) != mine.get(name):
            return f"{name} was {theirs.get(name)!r}, and is {mine.get(name)!r}"
    return ""
