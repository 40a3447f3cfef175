"""The writing stage: ranked rows -> parts under their final names."""

from collections.abc import Callable
from typing import Any, NamedTuple

from lrrf_jax._validation import InputError, OutputError
from lrrf_jax.io.inputs import Source
from lrrf_jax.io.manifest import PartRecord
from lrrf_jax.io.part_reader import End, Fault, Message, RankedRows
from lrrf_jax.io.table_writer import TableWriter


class FailedPart(NamedTuple):
    """A part, or a whole input where ``part`` is None, that could not be computed."""

    input: str
    part: int | None
    reason: str


class PartWriter:
    """Takes the messages in order; writes each part to a file of its own."""

    def __init__(self, target: Any, on_failure: Callable[[FailedPart], None] | None = None):
        self._target = target
        self._writer: TableWriter | None = None
        self._dropped: tuple[int, int | None] = (-1, None)  # the part that failed last
        self.finished: dict[tuple[str, int], PartRecord] = {}
        self.failed: list[FailedPart] = []
        self.first_error: Exception = InputError("nothing failed")
        self._on_failure = on_failure

    def take(self, message: Message) -> None:
        """Write rows, put a part in place, or drop one that failed."""
        if isinstance(message, Fault):
            if (message.source.number, message.number) != self._dropped:
                self._fail(message.source, message.number, message.error)
            return
        part = message.part
        if part.key == self._dropped:
            return
        try:
            if isinstance(message, RankedRows):
                if self._writer is None:
                    self._writer = self._target.writer(part)
                self._writer.write(message.table)
            elif isinstance(message, End) and self._writer is not None:
                record = self._target.commit(self._writer, part, message.last)
                self.finished[record.input, record.part] = record
                self._writer = None
        except OutputError:
            raise
        except Exception as error:
            self._fail(part.source, part.number, error)

    def _fail(self, source: Source, number: int | None, error: Exception) -> None:
        self.close()
        self._dropped = source.number, number
        known = isinstance(error, InputError)
        text = str(error) if known else f"unexpected {type(error).__name__}: {error}"
        reason = text if source.name in text else f"{source.name}: {text}"
        self.first_error = self.first_error if self.failed else error
        self.failed.append(FailedPart(source.name, number, reason))
        if self._on_failure is not None:
            self._on_failure(self.failed[-1])
        self._target.fail(source, number, reason)

    def close(self) -> None:
        """Drop a part that is not finished."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None
