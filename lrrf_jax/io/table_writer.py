"""One output table, written in pieces and put in place only when it is whole."""

import contextlib
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa

from lrrf_jax._files import take_mode
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, OutputError, require_output_place, unwritable
from lrrf_jax.io._sinks import SINKS, Sink
from lrrf_jax.io.answers import Answer, as_answer


def ranking_table(positions: NDArray, labels: Sequence[str], kept: pa.Table | None) -> pa.Table:
    """Put the kept columns and one column of positions per label side by side.

    Parameters
    ----------
    positions : ndarray (n_rows, n_labels)
    labels : sequence of n_labels str
    kept : pyarrow.Table of n_rows rows, or None

    Raises
    ------
    InputError
        Where a kept column is called like a label.

    Examples
    --------
    >>> ranking_table(np.array([[2, 1]], np.int32), ["a", "b"], None).to_pydict()
    {'a': [2], 'b': [1]}
    """
    columns = [pa.array(np.ascontiguousarray(column)) for column in positions.T]
    return answer_table(columns, as_answer(labels), kept)


def answer_table(columns: list[pa.Array], answer: Answer, kept: pa.Table | None) -> pa.Table:
    """Put the kept columns and those of an answer side by side."""
    names = answer.beside(kept.column_names if kept is not None else [])
    return pa.table([*(kept.columns if kept is not None else []), *columns], names=names)


class TableWriter:
    """Write a table piece by piece; the file appears under its name only when all is written.

    Parameters
    ----------
    path : str or path-like
        A file that is there already is replaced at the end.
    format : {"csv", "parquet", "npy"}, optional
        By default what the suffix of ``path`` says.
    temporary : str, optional
        The name of the unfinished file, on the same file system as ``path``. By default it lies
        next to it, hidden, as ``.NAME.<random>.tmp``.

    Raises
    ------
    InputError
        Where the format is unknown, the directory is not there, or a piece does not fit the
        format or the first piece; its subclass OutputError where the directory cannot be written
        or the disk is full. After an error, and after any exception in the ``with`` block, the
        unfinished file is gone.

    Notes
    -----
    The file is flushed to disk and renamed at the end; only a killed process can leave an
    unfinished one behind. Parquet pages carry checksums. In npy files the row count in the header
    is filled in at the end.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "ranks.csv")
    >>> with TableWriter(path) as writer:
    ...     writer.write({"a": [2, 1], "b": [1, 2]})
    ...     writer.write({"a": [1], "b": [2]})
    >>> print(path.read_text().strip())
    a,b
    2,1
    1,2
    1,2
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        temporary: str | None = None,
    ):
        self.path: str = os.fsdecode(path)
        self.format: str = format or os.path.splitext(self.path)[1].lower().lstrip(".")
        if self.format not in SINKS:
            raise InputError(
                f"{self.path}: the output format must be one of {', '.join(SINKS)}; it is "
                f"{self.format or 'not given'!r}. End the name in .csv, .parquet or .npy, or say "
                "format= (--format)."
            )
        require_output_place(self.path)
        folder, name = os.path.split(self.path)
        self.n_rows: int = 0
        self.temporary: str = temporary or os.path.join(
            folder, f".{name}.{uuid.uuid4().hex[:12]}.tmp"
        )
        self._sink: Sink | None = None
        with self._writing():
            self._file: IO[bytes] = open(self.temporary, "xb")

    def write(self, columns: pa.Table | Mapping[str, Any] | NDArray) -> None:
        """Append rows: a table, a mapping of names to columns, or for npy a 2-D array.

        All pieces must have the columns and types of the first one.
        """
        with self._writing():
            piece = columns if isinstance(columns, np.ndarray | pa.Table) else pa.table(columns)
            if self._sink is None:
                self._sink = SINKS[self.format](self._file, piece)
            self._sink.append(piece)
            self.n_rows += len(piece)

    def finish(self) -> None:
        """Write all that is left, to disk; the file is whole, under its temporary name."""
        with self._writing():
            if self._sink is None:
                raise InputError("there are no rows to write. Write one piece at least.")
            self._sink.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def place(self, path: str | None = None) -> None:
        """Move the finished file to ``path``, by default where the writer was made for."""
        self.path = path or self.path
        with self._writing():
            take_mode(self.temporary, self.path)
            os.replace(self.temporary, self.path)
            sync_directory(os.path.dirname(self.path))

    def close(self) -> None:
        """Finish the file and put it in place."""
        if self._file.closed:
            return
        self.finish()
        self.place()

    def abort(self) -> None:
        """Remove the unfinished file; what lies under ``path`` stays as it was."""
        if self._sink is not None:
            self._sink.abandon()
        # Closing flushes, which fails again on a full disk.
        with contextlib.suppress(OSError):
            if hasattr(self, "_file"):
                self._file.close()
        with contextlib.suppress(OSError):
            os.remove(self.temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OutputError:
            self.abort()
            raise
        except InputError as error:
            self.abort()
            raise InputError(f"{self.path}: {error}") from error
        except OSError as error:
            self.abort()
            raise unwritable(self.path, error) from error
        except (pa.ArrowException, ValueError, TypeError) as error:
            self.abort()
            raise InputError(
                f"{self.path}: the rows do not fit a {self.format} table "
                f"({str(error).splitlines()[0]})."
            ) from error
        except BaseException:
            self.abort()
            raise


def sync_directory(path: str) -> None:
    """Make a rename in a directory outlast a power failure, where the system can."""
    with contextlib.suppress(OSError):  # some systems open no directories
        descriptor = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
