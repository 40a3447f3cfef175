"""`read`: one call for every file format of label ranking data."""

import os
from collections.abc import Sequence

from lrrf_jax._tabular import (
    ARROW_SUFFIXES,
    DELIMITERS,
    MISSING,
    existing_file,
    suffix_of,
)
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._arrays import read_npy, read_npz
from lrrf_jax.datasets._rankings import check_convention
from lrrf_jax.datasets._tables import read_table
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.datasets.preflib import read_preflib
from lrrf_jax.datasets.xarff import read_xarff

TABLE_SUFFIXES = (*DELIMITERS, ".parquet", *ARROW_SUFFIXES)
PREFLIB_SUFFIXES = (".soc", ".soi")
SUFFIXES = (*TABLE_SUFFIXES, ".npy", ".npz", ".xarff", *PREFLIB_SUFFIXES)


def read(
    path: str | os.PathLike[str],
    *,
    features: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    ranking: str | None = None,
    convention: str = "positions",
    missing: str | Sequence[str] = MISSING,
    close_gaps: bool = False,
    name: str | None = None,
) -> LabelRankingData:
    r"""Read features and rankings from a file; the suffix tells the format.

    ==========================================  =================================================
    .csv, .csv.gz, .tsv, .tsv.gz                a header line, then one sample a line; UTF-8
    .parquet, .arrow, .feather, .ipc            the same columns, typed; Arrow file or stream
    .npz                                        arrays ``X`` and ``y``, and if there
                                                ``feature_names`` and ``labels``
    .npy                                        one 2-D array; ``labels="last:4"`` or ``"-4:"``
    .xarff                                      WEKA-LR: the last attribute is a RANKING
    .soc, .soi                                  PrefLib: votes without features, ``X`` is (n, 0)
    ==========================================  =================================================

    Parameters
    ----------
    path : str or path-like
    features, labels : str or sequence of str, optional
        Names or shell globs of columns; text is split at commas. A glob keeps the order of the
        file. By default the labels are the columns ``L<digits>`` and the features all others.
        In an .npy file they are ranges: ``"last:4"``, ``"first:2"``, or a slice counted from 0
        such as ``"-4:"``.
    ranking : str, optional
        A text column that holds label names, best first, as in ``b>d>a``. By default the column
        ``ranking``, where no column is called ``L<digits>``. Columns after it that are called
        like a label repeat the ranking, and are no features unless ``features`` asks for them.
    convention : {"positions", "orderings", "scores"}
        What the label columns hold; it is never guessed. Positions: 1 = best, in column j the
        place of label j. Orderings: in column k the label at place k, as index from 1 or as
        name. Scores: larger is better, and of equal scores the first label is better.
    missing : str or sequence of str
        What a text cell holds where a value or label is missing. Null and NaN always do.
    close_gaps : bool
        Accept positions with gaps, and close them: 2, 5, 9 becomes 1, 2, 3.
    name : str, optional
        Name of the data set; the file name without its suffix by default.

    Returns
    -------
    LabelRankingData
        ``X`` is rounded to float32 and may hold NaN. Rows that rank fewer than two labels stay.

    Raises
    ------
    InputError
        For anything wrong with the file; the message names the file, the column, the row (from
        1, without the header) and its line, and the way out. Refused are, among others: columns
        that could be read in two ways, text among numbers, infinities, repeated, skipped or
        0-based positions, a label that is missing in every row, and rows of unequal length.

    Notes
    -----
    A table of 1,000,000 rows and 20 columns takes seconds: nothing loops over rows but the
    readers of XARFF and PrefLib files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.csv")
    >>> _ = path.write_text("A1,A2,L1,L2,L3\n0.5,-1,2,1,\n0.1,?,1,2,3\n")
    >>> toy = read(path)
    >>> toy.y
    array([[ 2.,  1., nan],
           [ 1.,  2.,  3.]], dtype=float32)
    >>> toy.feature_names, toy.labels, toy.name
    (('A1', 'A2'), ('L1', 'L2', 'L3'), 'toy')
    >>> folder.cleanup()
    """
    text = existing_file(path)
    suffix = suffix_of(text)
    check_convention(convention)
    cells = [cell.strip() for cell in missing.split(",")] if isinstance(missing, str) else missing
    if name is None:
        name = os.path.basename(text)[: -len(suffix) or None]
    if suffix in TABLE_SUFFIXES:
        return read_table(
            text,
            name=name,
            features=features,
            labels=labels,
            ranking=ranking,
            convention=convention,
            missing=cells,
            close_gaps=close_gaps,
        )
    if suffix == ".npy":
        _refuse(text, ranking=ranking)
        return read_npy(
            text,
            name=name,
            features=features,
            labels=labels,
            convention=convention,
            close_gaps=close_gaps,
        )
    declared = {"features": features, "labels": labels, "ranking": ranking}
    if suffix == ".npz":
        _refuse(text, **declared)
        return read_npz(text, name=name, convention=convention, close_gaps=close_gaps)
    if convention != "positions":
        declared["convention"] = convention
    if suffix == ".xarff":
        _refuse(text, **declared)
        return read_xarff(text, name=name, missing=cells)
    if suffix in PREFLIB_SUFFIXES:
        _refuse(text, **declared)
        return read_preflib(text, name=name)
    tied = " Orders with ties are no rankings: break them." if suffix in (".toc", ".toi") else ""
    raise InputError(
        f"{text}: no reader is known for {suffix or 'a file without suffix'}. Use one of "
        f"{', '.join(SUFFIXES)}.{tied}"
    )


def _refuse(path: str, **arguments: str | Sequence[str] | None) -> None:
    """Raise InputError for an argument that the format of the file has no use for."""
    for argument, value in arguments.items():
        if value is not None:
            raise InputError(
                f"{path}: {argument}= has no meaning for {suffix_of(path)}, which says itself "
                f"what its columns are. Leave it out, or save the table as .csv or .parquet."
            )
