"""The part of a learner that ranks the rows of files, which may be larger than memory."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from lrrf_jax.learners._estimator import require_fitted


class FileModel:
    """A fitted model that streams tables; a base of `RankingModel`."""

    def predict_file(
        self,
        inputs: Any,
        output: str | os.PathLike[str],
        *,
        keep: str | Sequence[str] = (),
        features: str | Sequence[str] | None = None,
        format: str | None = None,
        memory_budget: int | None = None,
        part_rows: int = 1 << 21,
        resume: bool = False,
        shard: str | tuple[int, int] | None = None,
        overwrite: bool = False,
        missing_values: str | Sequence[str] | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        unseen: str | None = None,
        answer: str = "positions",
        top: int | None = None,
        input_format: str | None = None,
        progress: bool | None = False,
        on_failure: Callable[[Any], None] | None = None,
    ) -> Any:
        r"""Rank the labels for every row of tables that may be larger than memory.

        Parameters
        ----------
        inputs : path, or sequence of paths
            Tables (.parquet, .csv, .tsv, .arrow, .feather, .ipc, .npy, .npz; text also with
            ``.gz``), directories of tables, or globs.
        output : path
            A file; or a directory, which is what several inputs, ``resume`` and ``shard`` need.
            A path that ends in ``/`` is a directory.
        keep : str or sequence of str
            Columns to copy to the output, as names or globs; Parquet and Arrow keep their types.
        features : str or sequence of str, optional
            Columns to use instead of those called as in training.
        format : {"parquet", "csv", "npy"}, optional
            By default the suffix of a file; Parquet in a directory.
        memory_budget : int, optional
            Bytes that the process may take, with what it holds already. Batches are made so small
            that they fit; what a learner needs for a batch of its own is not known beforehand.
            The memory of an accelerator is apart: half of what it has free is planned for.
        part_rows : int
            In a directory, inputs are cut into parts of at most as many rows; row groups of
            Parquet files and record batches of Arrow files stay whole.
        resume : bool
            Keep the parts that an earlier run finished, check their checksums, and compute the
            rest.
        shard : str "i/n" or tuple (i, n), optional
            Compute the i-th, from 1, of n shares. Text, Arrow streams and npz files are not
            shared: one shard takes all of one. Shards may run at the same time.
        overwrite : bool
            Replace output that is there already.
        missing_values : str or sequence of str, optional
            What cells hold where a value is missing, as in `lrrf_jax.datasets.read`. By default
            what ``lrrf train`` was told, which the model remembers as ``missing_values_``.
        delimiter, decimal, encoding : str, optional
            How text tables are written, as in `lrrf_jax.datasets.read`: each table anew, whatever
            was said of the one that was learned from.
        unseen : {"error", "missing"}, optional
            What a level of a category is that training did not know; by default the parameter
            ``unseen`` of the learner.
        answer : {"positions", "scores", "order"}
            What is written: a column per label with its position, int32, or with its score,
            float32, larger is better; or columns ``place_1``, ``place_2``, ... with the names of
            the labels, best first, which npy files cannot hold.
        top : int, optional
            Write the order, cut to so many places.
        input_format : str, optional
            Format of a pipe, such as "tsv"; a pipe is the only input, and goes to one file.
        progress : bool or None
            Show rows a second on stderr; None: where that is a terminal.
        on_failure : callable, optional
            Called with each part that fails, at once and from another thread.

        Returns
        -------
        PredictionReport
            ``parts`` with (input, first_row, rows, output, resumed), ``rows``, and ``failed``
            with (input, part, reason): where an input is bad, the others are finished.

        Raises
        ------
        InputError
            Where no part could be computed; the output is there already or in use by another
            run; model, settings or inputs are not those of the run that is resumed; the budget is
            too small; the disk is full (then ``resume=True`` goes on later).

        Notes
        -----
        A part appears under its name when it is whole and on disk, and is never written again,
        whenever the process dies. `lrrf_jax.io.read_manifest` tells what a directory
        holds and whether all shards are through.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from lrrf_jax.learners import ConsensusLabelRanker
        >>> ranker = ConsensusLabelRanker().fit([[0.5]], [[2, 1]], feature_names=["a"])
        >>> folder = tempfile.TemporaryDirectory()
        >>> new = pathlib.Path(folder.name, "new.csv")
        >>> _ = new.write_text("id,a\nx7,1\nx8,2\n")
        >>> report = ranker.predict_file(new, new.with_name("ranks.csv"), keep="id")
        >>> report.rows, report.failed
        (2, ())
        >>> folder.cleanup()
        """
        from lrrf_jax.io.batch import predict_files

        require_fitted(self)
        return predict_files(
            self,
            inputs,
            output,
            keep=keep,
            features=features,
            format=format,
            memory_budget=memory_budget,
            part_rows=part_rows,
            resume=resume,
            shard=shard,
            overwrite=overwrite,
            missing_values=missing_values,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            unseen=unseen,
            answer=answer,
            top=top,
            input_format=input_format,
            progress=progress,
            on_failure=on_failure,
        )
