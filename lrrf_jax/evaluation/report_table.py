"""A table of results as CSV, Markdown and LaTeX."""

import csv
import io
import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}


class ReportTable(NamedTuple):
    """Rows under a header; numbers are written in full as CSV, and rounded otherwise."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    decimals: int = 3

    def to_csv(self) -> str:
        """Write numbers in full; a cell without a value is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([["" if _is_nothing(cell) else cell for cell in row] for row in self.rows])
        return text.getvalue()

    def to_markdown(self) -> str:
        """Write a table of GitHub's Markdown, numbers to the right.

        >>> table = ReportTable("title", ("data", "tau"), [("iris", 0.96649), ("wine", None)])
        >>> print(table.to_markdown())
        | data | tau |
        | --- | ---: |
        | iris | .966 |
        | wine | - |
        """
        numeric = [self._is_numeric(column) for column in range(len(self.header))]
        lines = [self.header, ["---:" if right else "---" for right in numeric], *self._texts()]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def to_latex(self) -> str:
        """Write a LaTeX table for the package booktabs."""
        columns = "".join("r" if self._is_numeric(k) else "l" for k in range(len(self.header)))
        lines = [" & ".join(map(_escaped, line)) + r" \\" for line in (self.header, *self._texts())]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def save(self, directory: str | os.PathLike[str], name: str) -> list[pathlib.Path]:
        """Write ``name.csv``, ``name.md`` and ``name.tex``; returns their paths."""
        folder = pathlib.Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            "csv": self.to_csv(),
            "md": f"{self.title}\n\n{self.to_markdown()}\n",
            "tex": self.to_latex() + "\n",
        }
        paths = []
        for suffix, text in texts.items():
            paths.append(folder / f"{name}.{suffix}")
            paths[-1].write_text(text, encoding="utf-8")
        return paths

    def _is_numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if not _is_nothing(row[column])]
        return bool(cells) and all(isinstance(cell, int | float) for cell in cells)

    def _texts(self) -> list[list[str]]:
        return [[self._text(cell) for cell in row] for row in self.rows]

    def _text(self, cell: Any) -> str:
        if _is_nothing(cell):
            return "-"
        if not isinstance(cell, float):
            return str(cell)
        text = f"{cell:.{self.decimals}f}"
        return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def _is_nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
