"""A fitted learner in a file: what `save` writes, and what is checked before it is one again."""

import dataclasses
import os
from typing import Annotated, Any, ClassVar, Self

from lrrf_jax import model_file
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.learners._coding import Categories, written
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.content import (
    Content,
    flatten,
    plain,
    read_header,
    without_nan,
)


@dataclasses.dataclass(frozen=True)
class PlainConfig:
    """The settings of a fitted learner that needs none to predict."""

    n_labels: Annotated[int, schema.Range(2)]


class StoredModel:
    """The part of a learner that saves it and makes it anew; a base of `LabelRanker`."""

    name: ClassVar[str]
    params_type: ClassVar[type]
    config_type: ClassVar[type] = PlainConfig
    _extra_types: ClassVar[dict[str, Any]] = {}  # of what `_extra_header` gives

    get_params: Any
    _set_fitted: Any
    params_: Any
    config_: Any
    labels_: NDArray
    n_features_in_: int
    missing_values_: tuple[str, ...]
    _categories: Categories

    # ------------------------------------------------------------------ what a learner provides
    def _check_params(self, params: Any) -> str | None:
        """Say what is wrong with parameters that were read from a file, besides their schema."""
        return None

    @classmethod
    def _n_outputs(cls, config: Any, n_labels: int) -> int:
        """Columns of what the parameters hold for each row or leaf."""
        return n_labels

    @classmethod
    def _read_arrays(cls, arrays: dict[str, NDArray], content: Content, format_version: int) -> Any:
        """Make the parameters of checked arrays of a model file."""
        return schema.arrays_of(cls.params_type, arrays, content.sizes)

    def _extra_header(self) -> dict[str, Any]:
        """JSON-able facts about the fit that a loaded model should still tell; NaN is null."""
        return {}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        """Take back what :meth:`_extra_header` gave."""

    # ------------------------------------------------------------------------------- files
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`lrrf_jax.load` reads.

        The file holds arrays (safetensors) and a JSON header with a format version and a
        SHA-256 of all; loading it executes nothing. A forest takes 11 bytes for each of its splits
        and four for each number in a leaf. A new file has the mode that the umask allows; one that
        is replaced keeps its mode.

        Raises
        ------
        InputError
            Where the file cannot be written, or parameters were set that ``fit`` refuses.
        """
        header, arrays = self._stored(path)
        model_file.write_model(path, arrays, header)

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, overwrite: bool = False
    ) -> tuple[str, ...]:
        """Write the fitted model for other libraries; what this one reads again is `save`'s.

        Parameters
        ----------
        path : str or path-like
            The file, in a directory that is there.
        format : {"onnx", "treelite", "stablehlo"}, optional
            By default what the suffix says: .onnx, .treelite or .stablehlo.
        overwrite : bool
            Replace files that are there already.

        Returns
        -------
        tuple of str
            The files that were written, whole or not at all: the model; and of StableHLO, which has
            no place for names, a JSON document beside it, ``path + ".json"``.

        Raises
        ------
        InputError
            Where a format does not hold such a learner: ONNX and StableHLO hold trees, linear
            learners, perceptrons and the consensus, treelite holds trees; where the package for the
            format is not installed; where the file is there already; its subclass OutputError where
            it cannot be written.

        Notes
        -----
        ``docs/how-to/export.md`` says what is in the files and how they are applied.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from lrrf_jax import RandomForestLabelRanker
        >>> ranker = RandomForestLabelRanker(2, max_depth=1, random_state=0)
        >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
        >>> folder = tempfile.TemporaryDirectory()
        >>> files = ranker.export(pathlib.Path(folder.name, "forest.treelite"))
        >>> [pathlib.Path(file).name for file in files]
        ['forest.treelite']
        >>> folder.cleanup()
        """
        from lrrf_jax.interchange.files import export_model

        require_fitted(self)
        return export_model(self, path, format, overwrite)

    def _stored(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return what goes into a model file, when it is known to be read again."""
        require_fitted(self)
        params = schema.without_later(type(self), plain(self.get_params(deep=False)))
        header = {
            "learner": self.name,
            "params": params,
            "config": schema.entries_of(self.config_),
            "labels": self.labels_.tolist(),
            "feature_names": list(getattr(self, "feature_names_in_", [])) or None,
            "n_features": self.n_features_in_,
            "extra": without_nan(self._extra_header()),
        }
        if self._categories:
            header["categories"] = written(self._categories)
        if hasattr(self, "missing_values_"):  # of cells, as `lrrf train` was told
            header["missing_values"] = [str(cell) for cell in self.missing_values_]
        try:  # as `load` will
            again = schema.parameters_of(type(self), params)
            schema.require_usable(again, self.n_features_in_, len(self.labels_))
            if self._categories:
                schema.require_categories(header["categories"], self.n_features_in_)
            for what in ("labels", "feature_names"):
                schema.require_names(header[what] or [], None, what)
            arrays = flatten(self.params_)
        except schema.Unfit as error:
            raise InputError(
                f"{os.fspath(path)}: the model cannot be saved, for it could not be loaded: "
                f"{error}. Set its parameters and names to what fit takes and files can hold."
            ) from error
        return header, arrays

    @classmethod
    def _from_file(cls, path: Any, header: dict[str, Any], arrays: dict[str, NDArray]) -> Self:
        """Make a fitted learner of what `model_file.read_model` read, when all of it is checked."""
        try:
            content = read_header(cls, header)
            ranker = content.ranker
            params = cls._read_arrays(arrays, content, header["format_version"])
            ranker.n_features_in_ = header["n_features"]
            ranker._categories = content.categories
            ranker._set_fitted(params, content.config, content.labels, content.feature_names)
            problem = ranker._check_params(params)
            if problem:
                raise schema.Unfit(problem)
            ranker._restore_extra(content.extra)
            if content.missing_values is not None:
                ranker.missing_values_ = content.missing_values
        except (schema.Unfit, MemoryError) as error:
            reason = str(error) or "there is not enough memory for it"
            raise ModelFileError(
                f"{os.fspath(path)}: holds no usable '{cls.name}' model: {reason}. "
                "Save the model again, with this version of lrrf_jax."
            ) from error
        return ranker
