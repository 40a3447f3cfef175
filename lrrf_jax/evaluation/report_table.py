"""A table of results as CSV, Markdown and LaTeX."""

import csv
import io
import math
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lrrf_jax._validation import unwritable

# What LaTeX takes for a command or a comment, what its usual fonts show otherwise, and the signs of
# ours that pdflatex does not know.
_LATEX = {letter: f"\\{letter}" for letter in "&%_#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After the end of a row, these would be an argument of its "\\".
    "[": "{[}",
    "*": "{*}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{INFINITY}": r"$\infty$",
    "\N{UPWARDS ARROW}": r"$\uparrow$",
    "\N{DOWNWARDS ARROW}": r"$\downarrow$",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}


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
        marks = ["---:" if right else "---" for right in numeric]
        header, *rows = [
            [_on_a_line(cell).replace("|", r"\|") for cell in line]
            for line in (self.header, *self._texts())
        ]
        return "\n".join("| " + " | ".join(line) + " |" for line in (header, marks, *rows))

    def to_latex(self) -> str:
        r"""Write a LaTeX table for the package booktabs; names mean nothing to LaTeX.

        >>> table = ReportTable("100 %", ("data", "tau_b"), [("{iris}", 0.5), ("wine", -0.25)])
        >>> print(table.to_latex())
        \begin{table}
        \caption{100 \%}
        \begin{tabular}{lr}
        \toprule
        data & tau\_b \\
        \midrule
        \{iris\} & .500 \\
        wine & $-$.250 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        numeric = [self._is_numeric(column) for column in range(len(self.header))]
        columns = "".join("r" if right else "l" for right in numeric)
        rows = [
            [
                text.replace("-", "\N{MINUS SIGN}") if right and not _is_nothing(cell) else text
                for cell, text, right in zip(row, texts, numeric, strict=True)
            ]
            for row, texts in zip(self.rows, self._texts(), strict=True)
        ]
        lines = [" & ".join(map(_escaped, line)) + r" \\" for line in (self.header, *rows)]
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
        """Write ``name.csv``, ``name.md`` and ``name.tex``; returns their paths.

        Raises
        ------
        OutputError
            Where they cannot be written.
        """
        folder = pathlib.Path(directory)
        texts = {
            "csv": self.to_csv(),
            "md": f"{self.title}\n\n{self.to_markdown()}\n",
            "tex": self.to_latex() + "\n",
        }
        paths = [folder / f"{name}.{suffix}" for suffix in texts]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path, text in zip(paths, texts.values(), strict=True):
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(str(folder), error) from error
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
        if math.isinf(cell):
            return "\N{INFINITY}" if cell > 0 else "-\N{INFINITY}"
        text = f"{cell:.{self.decimals}f}"
        return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def lines_of_others(
    test: Any, *columns: Iterable[Any]
) -> list[tuple[str, tuple[Any, ...]]]:  # name, numbers
    """Put what a test found into lines, one per method but its control."""
    lines = zip(test.methods, zip(*columns, strict=True), strict=True)
    return [(name, numbers) for name, numbers in lines if name != test.control]


def _is_nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _on_a_line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _on_a_line(text))
