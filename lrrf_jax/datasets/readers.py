"""`read`: one call for every file format of label ranking data."""

import os
from collections.abc import Sequence

from lrrf_jax._pipes import as_file
from lrrf_jax._table_names import ARROW_SUFFIXES, MISSING, TEXT_SUFFIXES, suffix_of
from lrrf_jax._validation import InputError, existing_file
from lrrf_jax.datasets._arrays import read_npy, read_npz
from lrrf_jax.datasets._reading import Reading, as_reading, require_only
from lrrf_jax.datasets._tables import read_table
from lrrf_jax.datasets.container import LabelRankingData

TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet", *ARROW_SUFFIXES)
XARFF_SUFFIXES = (".xarff", ".arff", ".xarff.gz", ".arff.gz")
PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")
_OF_XARFF = ("fold_column", "group_column", "categories", "encoding")
SUFFIXES = (*TABLE_SUFFIXES, ".npy", ".npz", *XARFF_SUFFIXES, *PREFLIB_SUFFIXES)


def read(
    path: str | os.PathLike[str],
    *,
    features: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    ranking: str | None = None,
    exclude: str | Sequence[str] = (),
    convention: str = "positions",
    missing: str | Sequence[str] = MISSING,
    close_gaps: bool = False,
    label_names: str | Sequence[str] | None = None,
    scores: str | Sequence[str] | None = None,
    lower_is_better: bool = False,
    fold_column: str | None = None,
    group_column: str | None = None,
    categories: str | Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    format: str | None = None,
    name: str | None = None,
    as_frame: bool = False,
) -> LabelRankingData:
    r"""Read features and rankings from a file; the suffix tells the format.

    ==========================================  =================================================
    .csv, .csv.gz, .tsv, .tsv.gz                a header line, then one sample a line; parted by
                                                comma, semicolon, bar or tab, in any encoding
    .parquet, .arrow, .feather, .ipc            the same columns, typed; Arrow file or stream
    .npz                                        arrays ``X`` and ``y`` or ``scores``, if there too
                                                ``feature_names``, ``labels``, ``folds``, ``groups``
    .npy                                        one 2-D array; ``labels="last:4"`` or ``"-4:"``
    .xarff, .arff, also .gz                     WEKA-LR: the last attribute is a RANKING; nominal
                                                ones are categories, unless their values are
                                                numbers; instance weights: ``sample_weight``
    .soc, .soi, .toc, .toi                      PrefLib: votes without features, ``X`` is (n, 0),
                                                their counts are ``sample_weight``; labels in
                                                braces tie
    ==========================================  =================================================

    Parameters
    ----------
    path : str or path-like
        A file; or a pipe (``/dev/stdin``, ``-`` for standard input, a FIFO), which is kept in a
        temporary file while it is read.
    features, labels : str or sequence of str, optional
        Names or shell globs of columns; text is split at commas. A glob keeps the order of the
        file. By default the labels are the columns ``L<digits>`` and the features all others.
        In an .npy file they are ranges: ``"last:4"``, ``"first:2"``, or a slice counted from 0
        such as ``"-4:"``.
    ranking : str, optional
        A text column that holds label names, best first, as in ``b>d>a``, or ``b>d=e>a`` where
        labels tie. By default the column ``ranking``, where no column is called ``L<digits>``.
        Columns after it that are called like a label repeat the ranking, and are no features
        unless ``features`` asks for them.
    exclude : str or sequence of str
        Columns that are neither features nor labels: names or globs, such as ``"id"``.
    convention : {"positions", "orderings", "scores"}
        What the label columns hold; it is never guessed. Positions: 1 = best, in column j the
        place of label j; labels that tie may have competition ranks (1, 2, 2, 4), dense ones
        (1, 2, 2, 3) or average ones (1, 2.5, 2.5, 4), row by row. Orderings: in column k the label
        at place k, as index from 1 or as name. Scores: see ``scores``.
    missing : str or sequence of str
        What a cell holds where a value or label is missing: by default what pandas reads so (an
        empty cell, NA, N/A, NULL, None, nan and the like), ?, NaT and ``\\N``. A text is split at
        commas, and ``default`` in it stands for all of these, as in ``"default,-9"``. Numbers mean
        the value, also in files whose cells are no text. Null and NaN always say "missing".
    close_gaps : bool
        Accept positions with gaps, and close them: 2, 5, 9 becomes 1, 2, 3.
    label_names : str or sequence of str, optional
        All labels of a text column or of orderings by name, where these hold a sign that would
        otherwise mean a tie (``=``, ``~``, ``<``, ``|``, ``{``), or are called like a missing
        value (``NA``). They are the columns of ``y``, in this order.
    scores : str or sequence of str, optional
        In place of ``labels``: columns of scores of the labels, which are called like them; larger
        is better, any scale, an empty cell is unknown. They come back as ``scores``, and ``y`` is
        their order, equal ones tied. It is the same as ``labels`` with ``convention="scores"``.
    lower_is_better : bool
        Scores are costs, such as seconds: ``scores`` becomes the numbers of the file with the other
        sign.
    fold_column, group_column : str, optional
        Columns that are neither features nor labels: a whole number for the fold in which a row is
        tested, and what says which rows belong together; they come back as ``folds`` and
        ``groups``, in text files groups as text.
    categories : str or sequence of str
        Feature columns that hold categories although they hold numbers, such as codes of districts:
        names or globs. Text of which no cell reads as a number is a category without a word, and so
        is an Arrow dictionary (pandas' category, polars' Categorical and Enum).
    delimiter : str, optional
        What parts the cells of a text table: one sign, such as ``";"``. By default the tab in .tsv
        files, and in .csv files the one of comma, semicolon, tab and bar that parts the header and
        the first 50 rows into as many cells each. Where several do, it has to be said.
    decimal : {".", ","}, optional
        The sign in numbers that are written as text, ``"."`` by default. It is never guessed: a
        cell such as 1,5 is an error that tells of this argument. Thousands are not parted.
    encoding : str, optional
        Encoding of a text file, by the name that Python has for it: ``"latin1"``, ``"cp1252"``. By
        default UTF-8, or UTF-16 or UTF-32 where the file begins with their mark.
    format : str, optional
        Format of a pipe without a suffix, such as ``"tsv"`` or ``"csv.gz"``. By default its first
        bytes tell Parquet, Arrow, npy and npz apart, and text is CSV.
    name : str, optional
        Name of the data set; the file name without its suffix by default.
    as_frame : bool
        Return ``X``, ``y`` and ``scores`` as pandas data frames, with the names of their columns.

    Returns
    -------
    LabelRankingData
        ``X`` is rounded to float32 and may hold NaN; where a column holds categories, it is a
        pyarrow.Table, with float32 numbers and dictionaries of text. Rows that rank fewer than two
        labels stay.

    Warns
    -----
    UserWarning
        Where a column that became a feature looks like a label that was left out, or like an id, a
        text that differs in all rows too (all columns are features unless ``features`` names them);
        where an ordering has a cell such as NA that may be a label.

    Raises
    ------
    InputError
        For anything wrong with the file; the message names the file, the column, the row (from
        1, without the header) and its line, and the way out. Refused are, among others: columns
        that could be read in two ways, text among numbers, commas in numbers, infinities, skipped
        or 0-based positions, repeated ones that are no ties, a label that is missing in every row,
        and rows of unequal length.

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
    how = as_reading(
        missing,
        label_names,
        convention,
        features=features,
        labels=labels,
        ranking=ranking,
        exclude=exclude,
        close_gaps=close_gaps,
        scores=scores,
        lower_is_better=lower_is_better,
        fold_column=fold_column,
        group_column=group_column,
        categories=categories,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
    )
    with as_file(os.fsdecode(path), format) as file:
        data = _read(existing_file(file), how, name)
    return data.in_frames() if as_frame else data


def _read(text: str, how: Reading, name: str | None) -> LabelRankingData:
    suffix = suffix_of(text)
    if name is None:
        name = os.path.basename(text)[: -len(suffix) or None]
    if suffix in TABLE_SUFFIXES:
        return read_table(text, name, how)
    if suffix == ".npy":
        require_only(text, how, "features", "labels", "convention", "close_gaps", "missing")
        return read_npy(text, name, how)
    if suffix == ".npz":
        require_only(text, how, "exclude", "convention", "close_gaps", "missing")
        return read_npz(text, name, how)
    if suffix in XARFF_SUFFIXES:
        from lrrf_jax.datasets.xarff import read_xarff

        require_only(text, how, "exclude", "missing", *_OF_XARFF)
        return read_xarff(text, name, how)
    if suffix in PREFLIB_SUFFIXES:
        from lrrf_jax.datasets.preflib import read_preflib

        require_only(text, how, "encoding")
        return read_preflib(text, name=name, encoding=how.encoding)
    raise InputError(
        f"{text}: no reader is known for {suffix or 'a file without suffix'}. Use one of "
        f"{', '.join(SUFFIXES)}."
    )
