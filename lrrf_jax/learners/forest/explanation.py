"""SHAP values with the names of what they belong to."""

from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


class Explanation(NamedTuple):
    """SHAP values of some rows, with all that names them."""

    values: NDArray  # float32 (n_samples, n_features, n_outputs)
    base_values: NDArray  # float64 (n_outputs,), the mean over the rows that were averaged over
    data: NDArray  # float32 (n_samples, n_features), categories as codes
    feature_names: list[str]
    output_names: list[str]  # labels, or pairs as "a > b"

    def of_output(self, name: str) -> NDArray:  # float32 (n_samples, n_features)
        """Return the values of one label, or of one pair.

        Raises
        ------
        InputError
            For a name that is none of ``output_names``.
        """
        return np.asarray(self.values[..., self.place_of(name)])

    def place_of(self, name: str) -> int:
        """Return the number of a label, or of a pair; see `of_output`."""
        if name not in self.output_names:
            listed = ", ".join(self.output_names[:10])
            more = len(self.output_names) - 10
            raise InputError(
                f"label must be one of {listed}{f' and {more} more' if more > 0 else ''}; it is "
                f"{name!r}."
            )
        return self.output_names.index(name)

    def to_shap(self) -> Any:
        """Make a ``shap.Explanation`` of it, for the figures of that package.

        Returns
        -------
        shap.Explanation
            Of all outputs; ``[..., number]`` of it has one.

        Raises
        ------
        InputError
            Without the package.
        """
        try:
            import shap
        except ImportError:
            raise InputError(
                "to_shap needs the package shap. Install it: pip install 'lrrf_jax[explain]'."
            ) from None
        return shap.Explanation(
            self.values,
            base_values=np.tile(self.base_values, (len(self.values), 1)),
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )
