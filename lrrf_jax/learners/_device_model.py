"""The part of a learner that ranks rows which lie on devices, and leaves the result there."""

import abc
import functools
from typing import Any, ClassVar

import jax

from lrrf_jax._backend import Backend
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._coding import NO_CATEGORIES
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.learners.on_device import (
    Placed,
    RowFunction,
    apply_where_it_lies,
    require_rows_on_device,
)


class DeviceModel(abc.ABC):
    """A fitted model whose arrays go to devices; a base of `RankingModel`."""

    name: ClassVar[str]

    params_: Any
    config_: Any
    labels_: NDArray
    n_features_in_: int
    _categories = NO_CATEGORIES  # until ``fit``

    # ------------------------------------------------------------------ what a learner provides
    def _row_function(self, of_ranks: bool) -> RowFunction | None:
        """Return what `_ranks` or `_scores` is on a device, as a function of `_arrays` and rows.

        None: there is no such function, and rows go to a device and back, block by block.
        """
        return None

    @classmethod
    def _arrays(cls, params: Any, config: Any, backend: Backend) -> Any:
        """Return what `_row_function` is applied to, as a kind of device wants it."""
        return params

    def _row_bytes(self) -> int:
        """Estimate the bytes of a device that a row takes in `_row_function`, features apart."""
        return 32 * len(self.labels_)

    # ------------------------------------------------------------------------------- devices
    def _placed_arrays(self) -> Placed:
        if "_placed" not in self.__dict__:
            self._placed = Placed(functools.partial(self._arrays, self.params_, self.config_))
        return self._placed

    def _forget_derived(self) -> None:
        """Drop what is derived from the parameters and can be derived again."""
        self.__dict__.pop("_placed", None)

    def predict_on_device(self, x: jax.Array) -> jax.Array:
        """Rank all labels for rows that lie on a device, and leave the result there.

        For pipelines in JAX: nothing is copied to the host or awaited. Works on arrays, also
        such as are spread over several devices by rows, and inside of `jax.jit` and
        `jax.shard_map`.

        Parameters
        ----------
        x : jax.Array, float32 (n_samples, n_features)
            Features, in the order of the training columns. On several devices: spread by a
            `jax.sharding.NamedSharding`.

        Returns
        -------
        jax.Array, int32 (n_samples, n_labels)
            What :meth:`predict` returns, on the devices of ``x`` and spread like its rows.

        Raises
        ------
        InputError
            Where ``x`` is no JAX array, or of another type or shape; where the learner has no
            program that a device could run from end to end (`predict` takes its rows).

        Notes
        -----
        Values are not looked at, which would have to wait for them. Trees take every value, NaN
        as missing and infinities as numbers. The others, which refuse both, give a row that has
        one **positions 0**, which are in no ranking, and NaN as scores.

        The first call on a device copies the model there, and the first of a shape compiles for
        a second or so; memory follows the rows, which are not cut into blocks: an accelerator
        takes up to a million at a time. In a caller's program the model becomes a constant, in
        the form of the devices that :func:`lrrf_jax.distributed.use_devices` or JAX's default
        names. There the rows of arrays that `jax.jit` spreads by itself are best ranked in
        `jax.shard_map`.

        Examples
        --------
        >>> import jax, jax.numpy as jnp
        >>> from lrrf_jax import RandomForestLabelRanker
        >>> ranker = RandomForestLabelRanker(n_estimators=4, random_state=0)
        >>> ranker = ranker.fit([[0.0], [1], [2], [3]] * 5, [[1, 2], [1, 2], [2, 1], [2, 1]] * 5)
        >>> x = jnp.array([[0.5], [2.5]])
        >>> ranker.predict_on_device(x).tolist()
        [[1, 2], [2, 1]]
        >>> first_is_best = jax.jit(lambda x: ranker.predict_on_device(x * 2)[:, 0] == 1)
        >>> first_is_best(x).tolist()
        [True, False]
        """
        return self._apply_on_device(x, of_ranks=True)

    def predict_scores_on_device(self, x: jax.Array) -> jax.Array:
        """Score the labels of rows that lie on a device, and leave the result there.

        As :meth:`predict_on_device`; what :meth:`predict_scores` returns, float32 (n_samples,
        n_labels), NaN in rows that the learner cannot rank.
        """
        return self._apply_on_device(x, of_ranks=False)

    def _apply_on_device(self, x: jax.Array, of_ranks: bool) -> jax.Array:
        require_fitted(self)
        rows = self._row_function(of_ranks)
        if rows is None:
            raise InputError(
                f"'{self.name}' has no program that ranks rows on a device from end to end. Use "
                "predict or predict_scores."
            )
        if self._categories:
            raise InputError(
                "the model takes categories, and rows on a device hold numbers alone. Rank a data "
                "frame with predict or predict_scores."
            )
        require_rows_on_device(x, self.n_features_in_)
        return apply_where_it_lies(rows, self._placed_arrays(), x)
