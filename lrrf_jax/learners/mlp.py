"""MLP: utilities of the labels by a few small multilayer perceptrons, learnt from pairs.

The loss of a known pair is that of Bradley and Terry (Biometrika 39, 1952), with utilities that a
network computes, as in Burges et al., "Learning to rank using gradient descent", ICML 2005.
Networks that start from other weights and hold out other rows are averaged: Lakshminarayanan,
Pritzel, Blundell, "Simple and scalable predictive uncertainty estimation using deep ensembles",
NIPS 2017. Weights decay apart from the gradient: Loshchilov and Hutter, ICLR 2019.
"""

from typing import Any

import jax

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_integer, require_number
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.linear.preferences import utility_preferences
from lrrf_jax.learners.neural.fit import fit_mlp
from lrrf_jax.learners.neural.predict import PerceptronParams, params_violation, perceptron_rows
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence.stored import PlainConfig


class PerceptronLabelRanker(LabelRanker):
    """Utilities of the labels by small multilayer perceptrons, learnt from pairs.

    Each network has two hidden layers and a utility for each label, and labels are ranked by the
    mean over the networks. Training minimises the sum of ``log(1 + exp(utility of the worse -
    utility of the better))`` over all pairs of ranked labels, Bradley and Terry's model.

    Parameters
    ----------
    n_networks : int
        Networks, which start from other weights.
    n_hidden : int
        Units of each of the two hidden layers.
    epochs : int or None
        Passes over the rows. None: enough for 2,000 steps, and at least 20.
    learning_rate : float
        Of Adam at the start, from where it falls to 0 as a cosine does.
    weight_decay : float
        Share of the weights that a step takes off them, times the learning rate.
    random_state : int, RandomState or None
        Decides the weights to start from, the rows held out and the order of the others. The same
        int gives the same bytes.

    Attributes
    ----------
    params_ : PerceptronParams

    Notes
    -----
    Each network holds out an eighth of the rows, which of them is drawn, and keeps the epoch after
    which their loss was least; of fewer than eight rows none is held out, and the last epoch
    counts. Features have unit variance, are cut off 16 spreads from their mean, and must not be
    missing. A tie is no pair, and a row of weight w, of weights of mean 1, counts w times in the
    loss when it is drawn, which is not the same as w copies. Weights and what layers put out are
    rounded to about four digits, so that a row gets the same bits in whatever company.

    Fit costs O(epochs n_samples n_networks n_hidden (n_features + n_hidden + n_labels)) and n_pairs
    besides, predict the same per row without epochs.

    Examples
    --------
    >>> from lrrf_jax.learners import PerceptronLabelRanker
    >>> ranker = PerceptronLabelRanker(n_hidden=16, random_state=0)
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist()
    [[1, 2], [2, 1]]
    """

    name = "mlp"
    params_type = PerceptronParams
    accepts_missing_features = False

    n_networks: int = 4
    n_hidden: int = 64
    epochs: int | None = None
    learning_rate: float = 3e-3
    weight_decay: float = 0.3
    random_state: Any = None

    def _check_settings(self, shape: TableShape) -> None:
        require_integer(self.n_networks, "n_networks", 1)
        require_integer(self.n_hidden, "n_hidden", 1)
        if self.epochs is not None:
            require_integer(self.epochs, "epochs", 1)
        require_number(self.learning_rate, "learning_rate")
        require_number(self.weight_decay, "weight_decay")

    def _fit(self, key: Any, table: TrainingTable) -> tuple[PerceptronParams, PlainConfig]:
        params = fit_mlp(
            key,
            table,
            n_networks=int(self.n_networks),
            n_hidden=int(self.n_hidden),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            epochs=None if self.epochs is None else int(self.epochs),
        )
        return params, PlainConfig(table.positions.shape[1])

    def _row_bytes(self) -> int:
        n_networks, n_hidden = self.params_.intercept_1.shape
        return 24 * n_networks * n_hidden

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(perceptron_rows, marks_unknown=True, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> jax.Array:
        return perceptron_rows(self.params_, features, of_ranks=True)

    def _scores(self, features: NDArray) -> jax.Array:
        return perceptron_rows(self.params_, features, of_ranks=False)

    def _preferences(self, features: NDArray) -> NDArray:
        return utility_preferences(self._map_rows(False, features))

    def _check_params(self, params: PerceptronParams) -> str | None:
        return params_violation(params)
