"""Scores of single folds in a CSV file, written as they come: a run that was cut off goes on.

A line is appended whole and brought to disk before the next fold is waited for. What a killed
process left half-written is cut off by the next one, and that fold is run again.
"""

import contextlib
import csv
import dataclasses
import gzip
import io
import json
import math
import os
import pathlib
import platform
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import filelock
import jax

import lrrf_jax
from lrrf_jax import _locks
from lrrf_jax._jax_backend import require_backend
from lrrf_jax._validation import InputError, unwritable
from lrrf_jax.evaluation.tables import OF_RANKINGS

_LOCK_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class FoldResult:
    """One line of a results file: what was run, and what it gave.

    Attributes
    ----------
    learner, data : str
        Names, as they were given to the comparison.
    missing : float
        Share of the labels that was deleted.
    protocol : str
    stratified : bool
    folds, repeat, fold : int
        Folds per repeat; repeat and fold, both from 0.
    seed : int
    params : str
        Parameters of the estimator, JSON.
    version : str
        Of lrrf_jax; results of another version are not taken for those of this one.
    platform : str
        Versions of Python, JAX and scikit-learn, and the device.
    tau : float
        Mean Kendall tau of the test rows; NaN where none has a known pair.
    fit_seconds, predict_seconds : float
        Wall-clock time; the first fold of a shape includes compilation.
    splits : str
        How the rows were cut, where it is by groups, fold numbers, leave-one-out or a splitter;
        it ends in a checksum of them.
    target : {"rankings", "scores"}
        What the learner was fitted to.
    measures : str
        JSON: the other measures by name, each with numerator and denominator of the learner, the
        single best label, random and the oracle. Empty where there are none.
    """

    learner: str
    data: str
    missing: float
    protocol: str
    stratified: bool
    folds: int
    repeat: int
    fold: int
    seed: int
    params: str
    version: str
    platform: str
    tau: float = math.nan
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    splits: str = ""
    target: str = OF_RANKINGS
    measures: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What a result is that of; two results with one key are the same fold."""
        return *(getattr(self, name) for name in _KEY), *sorted(self.sums)

    @property
    def sums(self) -> dict[str, Any]:
        """The other measures, by name; None for one that was not taken yet."""
        return json.loads(self.measures) if self.measures else {}


_COLUMNS = tuple(field.name for field in dataclasses.fields(FoldResult))
_FORMER = _COLUMNS[: _COLUMNS.index("splits")]  # of files that know none of the later ones
_KEY = (*_COLUMNS[: _COLUMNS.index("platform")], "splits", "target")
_READ: dict[Any, Callable[[str], Any]] = {
    # One NaN, so that what is read back equals what was written.
    float: lambda text: math.nan if text == "nan" else float(text),
    int: int,
    str: str,
    bool: {"True": True, "False": False}.__getitem__,
}


def platform_text() -> str:
    """Tell the versions and the device that numbers and times depend on."""
    import sklearn

    require_backend()
    device = jax.devices()[0].device_kind
    python = platform.python_version()
    return f"python {python}, jax {jax.__version__}, scikit-learn {sklearn.__version__}, {device}"


def library_version() -> str:
    """Version of lrrf_jax."""
    return lrrf_jax.__version__


def params_text(params: dict[str, Any]) -> str:
    """Write parameters, the same for equal ones."""
    return json.dumps(params, sort_keys=True)


class ResultsFile:
    """Results of folds in a CSV file, to which several processes may append.

    Parameters
    ----------
    path : path
        Made where it is not there yet, with its directory. One ending in ".gz" is only read.

    Raises
    ------
    InputError
        Where the file holds something else; its subclass OutputError where its place cannot be
        written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: pathlib.Path = pathlib.Path(path)

    def read(self) -> list[FoldResult]:
        """Results of all folds that are whole; of equal ones, the last."""
        try:
            content = self.path.read_bytes()
            if self._is_compressed:
                content = gzip.decompress(content)
        except FileNotFoundError:
            return []
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{self.path}: cannot be read ({reason}).") from error
        whole = content[: content.rfind(b"\n") + 1].decode()
        lines = csv.reader(io.StringIO(whole))
        header = next(lines, None)
        if header is None:
            return []
        if tuple(header) not in (_COLUMNS, _FORMER):
            raise InputError(
                f"{self.path}: holds no results of folds; its columns are {', '.join(header)}. "
                "Name another file."
            )
        found = {}
        for number, cells in enumerate(lines, start=2):
            try:
                result = _parse(cells, len(header))
            except (KeyError, ValueError) as error:
                raise InputError(
                    f"{self.path}: line {number} is no result of a fold ({error}). Delete the "
                    "line; the fold is then run again."
                ) from error
            found[result.key] = result
        return list(found.values())

    def append(self, results: Iterable[FoldResult]) -> None:
        """Write results to the end; they are on disk when this returns."""
        if self._is_compressed:
            raise InputError(
                f"{self.path}: results are not appended to a compressed file. Unpack it first "
                "(gunzip)."
            )
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for result in results:
            writer.writerow(dataclasses.astuple(result))
        with self._locked():
            self._add_columns()
            with open(self.path, "a+b", buffering=0) as file:
                size = _cut_off_half_a_line(file)
                header = "" if size else ",".join(_COLUMNS) + "\n"
                content = (header + text.getvalue()).encode()
                try:
                    while content:
                        content = content[file.write(content) :]
                    os.fsync(file.fileno())
                except OSError:  # a full disk: leave no half of a line, and no empty file
                    file.truncate(size)
                    if size == 0:
                        self.path.unlink()
                    raise

    def _add_columns(self) -> None:
        """Give a file of a former version the columns that it lacks, all at once."""
        former = (",".join(_FORMER) + "\n").encode()
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            if file.read(len(former)) != former:
                return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(dataclasses.astuple(result) for result in self.read())
        whole = self.path.with_name(self.path.name + ".whole")
        with open(whole, "wb") as file:
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(whole, self.path)

    @property
    def _is_compressed(self) -> bool:
        return self.path.suffix == ".gz"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _locks.held(lock, _LOCK_SECONDS):
                yield
        except filelock.Timeout:
            raise InputError(f"{self.path}: another process holds {lock}. Wait for it.") from None
        except OSError as error:
            raise unwritable(str(self.path), error) from error


def _cut_off_half_a_line(file: BinaryIO | io.FileIO) -> int:
    """Remove what a killed process left half-written; returns the bytes that stay."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            size = file.read().rfind(b"\n") + 1
            file.truncate(size)
    return size


def _parse(cells: list[str], n_columns: int) -> FoldResult:
    if len(cells) != n_columns:
        raise ValueError(f"it has {len(cells)} cells instead of {n_columns}")
    fields = dataclasses.fields(FoldResult)[:n_columns]
    values = [_READ[field.type](cell) for field, cell in zip(fields, cells, strict=True)]
    return FoldResult(*values)
