"""Why trees rank a row as they do: a base of `TreeLabelRanker`."""

import abc
import itertools
from typing import Any

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._threads import use_threads
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice, require_integer
from lrrf_jax.learners.forest.attribution import shap_values
from lrrf_jax.learners.forest.covers import drawn_weights
from lrrf_jax.learners.forest.explanation import Explanation
from lrrf_jax.learners.forest.path import path_in_words, signs_of_trees, typical_tree
from lrrf_jax.learners.forest.text import names_of
from lrrf_jax.learners.forest.views import TreeViews
from lrrf_jax.learners.why import Neighbor, Why, adjacent_pairs, ranking_text
from lrrf_jax.rankings.pairwise import pair_signs_on_host


class TreeReasons(TreeViews):
    """What features and training rows stand behind a ranking."""

    labels_: NDArray

    # ------------------------------------------------------------------ what a learner provides
    @abc.abstractmethod
    def _map_rows(self, of_ranks: bool, features: NDArray) -> NDArray:
        """Rank or score rows."""

    # ------------------------------------------------------------------------------- features
    def shap_values(self, X: Any, of: str = "scores", background: Any = None) -> Explanation:
        """Tell what each feature adds to the score of each label, or to each preference.

        SHAP values (Lundberg et al. 2020): what a feature adds, on average over all orders in
        which the features of the row become known. Where a tree asks for one that is not known,
        the row goes both ways, in shares: those of the rows that trees were grown on.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
            Rows to explain.
        of : {"scores", "pairs"}
            Scores of the labels, or preferences for the first label of each pair to the second.
        background : array-like or data frame, (n_others, n_features), optional
            Rows whose shares in the nodes are taken; by default the training rows, by their weights
            and as each tree drew them. Both children of a node that none of them reaches get half.

        Returns
        -------
        Explanation
            - values: float32 (n_samples, n_features, n_outputs);
            - base_values: float64 (n_outputs,), what they are added to: the mean over the rows that
              shares are of, if these are all that trees drew;
            - data: float32 (n_samples, n_features), the rows, with the codes of categories;
            - feature_names: A1, A2, ... where there are no names;
            - output_names: labels, or pairs as "a > b".

            ``to_shap()`` makes a ``shap.Explanation`` of it, ``of_output(name)`` has the values of
            one label or pair.

        Raises
        ------
        InputError
            For rows that `predict` refuses; without ``background``, where the model comes from a
            file, which holds no rows.

        Notes
        -----
        ``base_values + values.sum(1)`` is what is explained, to 1e-5: with the aggregations
        "two-step" and "one-step" `predict_scores`; with "copeland" and "kemeny" the mean preference
        over the other labels, which `predict_scores` redistributes among the labels so that
        it agrees with the ranks. For pairs it is `predict_preferences`, which takes preferences of
        "copeland" and "kemeny" of up to 1/4096 for none.

        Path-dependent TreeSHAP, by quadrature (see `shapley`): O(n_samples n_leaves max_depth
        (max_depth + n_outputs)), and 12 bytes for each row, feature and output. Categories are
        explained as the codes that they have in trees; ``feature_categories_`` has the levels in
        the order of the codes.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> X, y = [[0.0, 5], [1, 5], [2, 5], [3, 5]], 2 * [[1, 2]] + 2 * [[2, 1]]
        >>> tree = LEARNERS["lrt"]().fit(X, y, feature_names=["age", "size"], labels=["a", "b"])
        >>> found = tree.shap_values([[0, 5]])
        >>> found.base_values.tolist(), found.of_output("a").tolist()
        ([1.5, 1.5], [[0.5, 0.0]])
        >>> tree.predict_scores([[0, 5]]).tolist()
        [[2.0, 1.0]]
        """
        features = self._features(X)
        require_choice(of, "of", ("scores", "pairs"))
        if background is None:
            last = self._last_fit_for("shap_values", "Pass rows to average over as background.")
            others, weight = last.features, drawn_weights(last, self.forest_.n_trees)
        else:
            others, weight = self._features(background), None
        leaf = self._leaves(others)
        with our_settings(), use_threads(getattr(self, "n_jobs", None)):
            values, base = shap_values(features, self.forest_, self.config_, of, leaf, weight)
        labels = self.labels_.tolist()
        pairs = [f"{one} > {other}" for one, other in itertools.combinations(labels, 2)]
        names = names_of(self).features
        return Explanation(values, base, features, names, labels if of == "scores" else pairs)

    # ------------------------------------------------------------------------------- rows
    def why(self, X: Any, row: int = 0, k: int = 5) -> Why:
        """Tell what stands behind the ranking of one row.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
        row : int
            Which row of ``X``, from 0.
        k : int
            How many training rows to show at most. 0: none, which is all that a model from a file
            can do.

        Returns
        -------
        Why
            - labels, scores: as predicted, best first;
            - agreement: float64 (n_labels - 1,), the share of trees whose leaf has each label
              before the next one, with half of those that tie them;
            - neighbors: training rows, heaviest first, as by :meth:`neighbors`, and their rankings;
            - tree, path: one tree, and the tests on the way of the row through it: that whose leaf
              agrees best with the ranking (on most pairs of labels), among equals the one of
              fewest tests, and the first of these.

            ``str`` of it is a text, `lrrf_jax.plotting.plot_why` a figure; notebooks show the text.

        Raises
        ------
        InputError
            For rows that `predict` refuses, a row that is not there, and where the model comes from
            a file, which holds no training rows, unless ``k`` is 0.

        Notes
        -----
        Costs what :meth:`neighbors` does for one row.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> X, y = [[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]]
        >>> tree = LEARNERS["lrt"]().fit(X, y, feature_names=["age"], labels=["tea", "milk"])
        >>> print(tree.why([[2.5]], k=1))
        row 0: milk > tea
        <BLANKLINE>
        label  score
        milk    2.00
        tea     1.00
        <BLANKLINE>
        share of trees in this order
          milk > tea  100 %
        <BLANKLINE>
        training rows by weight
          row 2  0.500  milk > tea
        <BLANKLINE>
        path in tree 0
          age >= 1.50: it is 2.5
        """
        features = self._features(X)
        require_integer(row, "row", 0, len(features) - 1)
        require_integer(k, "k", 0)
        features = features[row : row + 1]
        ranks, scores = self._map_rows(True, features)[0], self._map_rows(False, features)[0]
        order = np.argsort(ranks)
        near = self._neighbors_of(features, int(k), order) if k else []
        leaf = self._leaves(features)[0]
        signs = signs_of_trees(self.forest_, leaf, self.config_.aggregation)
        predicted = pair_signs_on_host(ranks[None].astype(np.float32))[0]
        share = (1 + (signs * predicted).mean(axis=0, dtype=np.float64)) / 2
        tree = typical_tree(self.forest_, leaf, signs, ranks)
        return Why(
            int(row),
            self.labels_[order].tolist(),
            scores[order],
            share[adjacent_pairs(order)],
            "trees",
            near,
            tree,
            path_in_words(self, tree, int(leaf[tree]), features[0]),
        )

    def _neighbors_of(self, features: NDArray, k: int, order: NDArray) -> list[Neighbor]:
        last = self._last_fit_for("why", "Fit in this process, or pass k=0 to do without them.")
        rows, weights = self._neighbors(features, k, last)
        place = np.full(last.n_rows, -1)
        place[last.row] = np.arange(len(last.row))
        labels = self.labels_.tolist()
        found = []
        for row, weight in zip(rows[0].tolist(), weights[0].tolist(), strict=True):
            if row >= 0:
                positions = last.positions[place[row]]
                text = ranking_text(positions, labels)
                found.append(Neighbor(row, weight, text, positions[order]))
        return found
