"""What is wrong with a table and a place for its rankings, before there is a ranker."""

from collections.abc import Sequence

from lrrf_jax._validation import InputError
from lrrf_jax.io.batch import NothingDone
from lrrf_jax.io.inputs import look_at
from lrrf_jax.io.output_file import OutputFile
from lrrf_jax.io.part_writer import FailedPart
from lrrf_jax.io.tables import open_batches


def require_file_for_file(
    path: str,
    output: str,
    feature_names: Sequence[str] | None,
    n_features: int,
    *,
    features: str | Sequence[str] | None,
    keep: str | Sequence[str],
    overwrite: bool,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> None:
    """Raise what `predict_files` would raise for one table and one file; cost: its header.

    A model file tells the names of its features at once, and a ranker takes the import of JAX.
    """
    source = look_at(0, path, None)
    OutputFile(output, None).require_free([source], overwrite)
    if source.error is not None:
        raise NothingDone([FailedPart(path, None, str(source.error))])
    try:
        open_batches(
            path,
            feature_names,
            n_features=n_features,
            features=features,
            keep=keep,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
        )
    except InputError as error:
        part = 0 if source.ranges is None else None  # as a stream fails, in its first part
        raise NothingDone([FailedPart(path, part, str(error))]) from error
