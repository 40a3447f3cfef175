"""How many neighbours: the number of the best mean tau on rows held out."""

import numpy as np

from lrrf_jax._threefry import first_word
from lrrf_jax._typing import Array
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners.neighbors.params import NeighborConfig, NeighborParams
from lrrf_jax.learners.neighbors.scores import Model, padded_rankings, score_neighborhoods
from lrrf_jax.learners.neighbors.search import nearest, neighbor_table
from lrrf_jax.rankings.distances import kendall_tau
from lrrf_jax.rankings.permutations import rank_scores

CANDIDATES = (5, 10, 15, 20)  # Cheng, Hühn and Hüllermeier 2009
N_FOLDS = 10
MAX_HELD_OUT = 4096  # rows that tell the candidates apart: a standard error of .005 in tau


def choose_n_neighbors(
    key: Array, params: NeighborParams, config: NeighborConfig, model: Model, by_share: bool
) -> int:
    """Choose among `CANDIDATES` by the mean tau over the known pairs of held-out rows.

    The neighbours of a row are found once, for the largest candidate, among the rows of the other
    of ten folds; at most `MAX_HELD_OUT` rows, drawn at random, are held out. The smaller of equal
    candidates wins.
    """
    n_rows = len(params.features)
    if n_rows < 2:
        return CANDIDATES[0]
    generator = np.random.default_rng(first_word(key))
    order = generator.permutation(n_rows)
    fold = np.empty(n_rows, np.int32)
    fold[order] = np.arange(n_rows) % min(N_FOLDS, n_rows)
    held_out = np.sort(order[:MAX_HELD_OUT])
    padding = bucket_size(len(held_out)) - len(held_out)
    rows = np.pad(held_out, (0, padding))
    k = max(CANDIDATES)
    table = neighbor_table(params.features, fold, room=k)
    found = nearest(table, params.features[rows], fold[rows], k=k)
    positions, weight = padded_rankings(params)
    mean_tau = []
    for candidate in CANDIDATES:
        scores = score_neighborhoods(
            positions,
            weight,
            params.overall,
            *found,
            float(candidate),
            config.prior,
            model=model,
            weights=config.weights,
            by_share=by_share,
        )
        ranks = np.asarray(rank_scores(scores))[: len(held_out)].astype(np.float32)
        tau = kendall_tau(params.positions[held_out], ranks)
        known = ~np.isnan(tau)
        mean_tau.append(
            np.average(tau[known].astype(np.float64), weights=params.weight[held_out][known])
        )
    return CANDIDATES[int(np.argmax(np.round(mean_tau, 9)))]
