"""Why trees rank a row as they do: a base of `TreeLabelRanker`."""

import itertools
from typing import Any

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._threads import use_threads
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice
from lrrf_jax.learners.forest.attribution import shap_values
from lrrf_jax.learners.forest.covers import drawn_weights
from lrrf_jax.learners.forest.explanation import Explanation
from lrrf_jax.learners.forest.text import names_of
from lrrf_jax.learners.forest.views import TreeViews


class TreeReasons(TreeViews):
    """What features and training rows stand behind a ranking."""

    labels_: NDArray

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
        (max_depth + n_outputs)). Rows with the codes that categories have in trees are explained;
        ``feature_categories_`` has the levels in the order of the codes.

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
