"""The ARFF files of an ASlib scenario: columns by name, rows by instance and repetition."""

import os
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lrrf_jax._table_names import resembling
from lrrf_jax._tabular import Rows, numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._arff import Attribute, arff_table, open_arff

MISSING = ("?", "")
STATUSES = ("ok", "timeout", "memout", "not_applicable", "crash", "other")


class Table(NamedTuple):
    """A file with a row for each instance and repetition, or for each run."""

    path: str
    attributes: list[Attribute]
    cells: pa.Table  # text
    rows: Rows

    def name_of(self, name: str) -> str:
        """Return the name of a column as the file writes it; upper and lower case are one."""
        names = self.cells.column_names
        for known in names:
            if known == name or (name not in names and known.casefold() == name.casefold()):
                return str(known)
        raise InputError(f"{self.path}: there is no attribute {name!r}. {resembling(name, names)}")

    def texts(self, name: str) -> list[str]:
        """Return a column that has no gaps."""
        name = self.name_of(name)
        cells = self.cells[name].to_pylist()
        for row, cell in enumerate(cells):
            if cell in MISSING:
                raise self.fault(row, f"attribute {name!r} is missing")
        return cells

    def numbers(self, name: str) -> NDArray:  # float64 (n_rows,), NaN: missing
        """Return a column of numbers."""
        name = self.name_of(name)
        return numbers(self.cells[name], name, self.rows, MISSING).astype(np.float64)

    def repetitions(self) -> list[int]:
        """Return the number of the repetition."""
        column = self.numbers("repetition")
        odd = ~((np.abs(column) < 2**53) & (column == np.floor(column)))
        if odd.any():
            raise self.fault(int(np.argmax(odd)), "the repetition is no whole number")
        return [int(number) for number in column]

    def statuses(self, name: str, known: tuple[str, ...]) -> NDArray:  # of text (n_rows,)
        """Return a column of statuses."""
        cells = [cell.lower() for cell in self.texts(name)]
        for row, cell in enumerate(cells):
            if cell not in known:
                raise self.fault(row, f"attribute {name!r} is {cell!r}, none of {', '.join(known)}")
        return np.array(cells, object)

    def fault(self, row: int, what: str) -> InputError:
        """Return the error for a row."""
        return InputError(f"{self.path}: {self.rows.at(row)}: {what}. Correct the row.")

    def require_once(self, keys: Sequence[Hashable], what: str) -> None:
        """Raise InputError where two rows are about the same."""
        first: dict[Hashable, int] = {}
        for row, key in enumerate(keys):
            before = first.setdefault(key, row)
            if before != row:
                raise self.fault(row, f"{what} is there already in {self.rows.at(before)}")


def open_table(folder: str, name: str) -> Table | None:
    """Open a file of a scenario, gzipped or not; None where there is none."""
    for path in (os.path.join(folder, name), os.path.join(folder, f"{name}.gz")):
        if os.path.isfile(path):
            file = open_arff(path)
            cells, _, rows = arff_table(file)
            return Table(path, file.attributes, cells, rows)
    return None


def needed_table(folder: str, name: str) -> Table:
    """Open a file that every scenario has."""
    table = open_table(folder, name)
    if table is None:
        raise InputError(
            f"{os.path.join(folder, name)}: there is no such file. A scenario has "
            "algorithm_runs.arff and feature_values.arff beside its description."
        )
    return table


def tell(gaps: list[str], count: int, what: str) -> None:
    """Note how many there are of a kind of gap, if there are any."""
    if count:
        gaps.append(f"{what}: {count}")


def codes(names: list[str], known: Sequence[str]) -> NDArray:  # int64 (n_rows,)
    """Return where each name stands among the known ones."""
    number = {name: i for i, name in enumerate(known)}
    return np.array([number[name] for name in names], np.int64)


def means_of(
    row: NDArray,  # int64 (n,), of the result
    repetition: list[int],
    values: NDArray,  # float64 (n,), NaN: unknown
    n_rows: int,
    numeric: bool = True,
) -> NDArray:  # float64 (n_rows,), NaN where nothing is known
    """Average the repetitions, always in one order; take the first of what is not numeric."""
    order = np.lexsort((values, np.array(repetition), row))
    order = order[~np.isnan(values[order])]
    row, values = row[order], values[order]
    first = np.ones(len(row), bool)
    first[1:] = row[1:] != row[:-1]
    means = np.full(n_rows, np.nan)
    means[row[first]] = values[first]
    if numeric and not first.all():
        # Less the first one: the mean of equal numbers is that number, so that ties stay ties.
        count = np.bincount(row, minlength=n_rows)
        excess = np.bincount(row, values - means[row], minlength=n_rows)
        means += excess / np.maximum(count, 1)
    return means
