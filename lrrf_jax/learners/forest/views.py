"""What trees tell besides rankings: a base of `TreeLabelRanker`."""

import abc
from typing import Any

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._output import as_frame, require_output
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.inference.ready import ReadyForest
from lrrf_jax.learners.forest import nodes, table, text
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.leaves import leaf_at_depth, slots_of_leaves
from lrrf_jax.learners.forest.neighbors import neighbors
from lrrf_jax.learners.forest.proximity import proximity
from lrrf_jax.learners.forest.warm_start import LastFit
from lrrf_jax.trees.forest import Forest


class TreeViews(abc.ABC):
    """Leaves, ways, neighbours and nodes of fitted trees."""

    config_: ForestConfig
    forest_: Any
    _last_fit: LastFit

    # ------------------------------------------------------------------ what a learner provides
    @abc.abstractmethod
    def _features(self, X: Any) -> NDArray:
        """Check rows, float32 (n_samples, n_features)."""

    @abc.abstractmethod
    def _leaves(self, features: NDArray) -> NDArray:
        """Leaf that each row reaches in each tree, int32 (n_samples, n_trees)."""

    @abc.abstractmethod
    def _on_one(self) -> ReadyForest:
        """Return the forest as it lies on the first device of this process."""

    # ------------------------------------------------------------------------------- rows
    def apply(self, X: Any) -> NDArray:
        """Leaf that each row reaches in each tree.

        Returns
        -------
        int32 (n_samples, n_estimators)
            0 .. 2**max_depth - 1, leaves of the complete tree from left to right. A number does
            not change with the depth that the trees reach. ``forest_`` may have fewer levels; a
            column of its ``leaf_slot`` is ``leaf >> (max_depth - forest_.depth)``. The column
            "leaf" of :meth:`trees_to_frame` has the same numbers.
        """
        leaf = self._leaves(self._features(X))
        return leaf_at_depth(leaf, self.forest_.depth, self.config_.max_depth)

    def _leaf_slots(self, X: Any) -> NDArray:  # int32 (n_samples, n_estimators)
        """Row of ``forest_.leaf_value`` that each row reaches in each tree."""
        return self._slots(self._features(X))

    def _slots(self, features: NDArray) -> NDArray:  # int32 (n_samples, n_estimators)
        return slots_of_leaves(self._leaves(features), np.asarray(self.forest_.leaf_slot))

    def decision_path(self, X: Any) -> tuple[Any, NDArray]:
        """Nodes that each row goes through, from the root to its leaf, in all trees.

        Returns
        -------
        indicator : scipy.sparse.csr_matrix, int32 (n_samples, n_nodes)
            1 where the row of X goes through the node.
        n_nodes_ptr : int64 (n_estimators + 1,)
            The nodes of tree t are the columns ``n_nodes_ptr[t] .. n_nodes_ptr[t + 1] - 1``; in
            each, level after level and from left to right, as in :meth:`trees_to_frame`.

        Notes
        -----
        As scikit-learn's forests answer; one tree answers likewise. Takes 12 bytes for each row
        and node on its way.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> tree = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
        >>> indicator, n_nodes_ptr = tree.decision_path([[0.0], [3]])
        >>> indicator.toarray().tolist(), n_nodes_ptr.tolist()
        ([[1, 0, 1], [1, 1, 0]], [0, 3])
        """
        return nodes.decision_path(self.forest_, self._leaves(self._features(X)))

    def proximity(self, X: Any, Y: Any = None, *, sparse_output: bool = True) -> Any:
        """Share of the trees in which two rows meet in a leaf.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
        Y : array-like or data frame, (n_others, n_features), optional
            What rows of X are compared with; by default the rows that the model was fitted on.
        sparse_output : bool
            Whether to return a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_matrix or array, float32 (n_samples, n_others)
            From 0 to 1, which a row has with its equals. Columns are numbered as the rows that
            were passed to ``fit``; those left out of training have zeros.

        Raises
        ------
        InputError
            Without ``Y``, where the model comes from a file, which holds no rows.

        Notes
        -----
        Breiman's proximity: every row counts, whether or not a tree drew it, and so that of X with
        X is symmetric. Times the number of trees, it is what quantile-forest counts as
        ``proximity_counts``. :meth:`neighbors` weighs by the bootstrap instead, as predictions do.

        X is taken in chunks, so that besides the result there are some 100 MB in work. The result
        takes 8 bytes for each pair of rows that meet, which may be all of them where trees are
        shallow: pass X in parts where it is too large. Costs O(n_estimators) for each such pair.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> tree = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
        >>> tree.proximity([[0.0], [9]], sparse_output=False).tolist()
        [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
        """
        features = self._features(X)
        if Y is not None:
            others = self._features(Y)
        else:
            last = self._last_fit_for("proximity", "Pass the rows to compare with as Y.")
            others = last.features
        slots, n_slots = self._slots(others), len(self.forest_.leaf_value)
        if Y is None and len(others) < last.n_rows:  # rows left out meet nobody
            every = np.full((last.n_rows, slots.shape[1]), n_slots, slots.dtype)
            every[last.row] = slots
            slots, n_slots = every, n_slots + 1
        return proximity(self._slots(features), slots, n_slots, sparse_output=sparse_output)

    def neighbors(self, X: Any, k: int = 5) -> tuple[NDArray, NDArray]:
        """Training rows that share leaves with each row, as the paper of LR-RF retrieves them.

        A training row weighs, in each tree, its share of the rows of the bootstrap in the leaf
        (of all rows, where there is none); weights are means over trees, so those of all training
        rows sum to 1.

        Returns
        -------
        indices : int64 (n_samples, k)
            Numbers of rows as passed to ``fit``, heaviest first, lower numbers first on a tie;
            -1 where fewer than ``k`` rows share a leaf.
        weights : float32 (n_samples, k)

        Raises
        ------
        InputError
            Where the model comes from a file, which holds no rows.

        Notes
        -----
        Costs O(n_samples n_training n_estimators). A fitted ranker keeps the training rows for it,
        in memory and in pickles.
        """
        features = self._features(X)
        last = self._last_fit_for("neighbors", "Fit the forest in this process.")
        require_integer(k, "k", 1)
        return self._neighbors(features, int(k), last)

    def _neighbors(self, features: NDArray, k: int, last: LastFit) -> tuple[NDArray, NDArray]:
        with our_settings():
            return neighbors(features, k, self._on_one(), last)

    def _last_fit_for(self, what: str, remedy: str) -> LastFit:
        if not hasattr(self, "_last_fit"):
            raise InputError(
                f"{what} needs the training rows, which a saved model does not hold. {remedy}"
            )
        return self._last_fit

    # ------------------------------------------------------------------------------- nodes
    def export_text(self, tree: int = 0, *, max_depth: int = 10, decimals: int = 2) -> str:
        """Write a tree down as text, as scikit-learn's ``export_text`` does.

        Parameters
        ----------
        tree : int
            Which tree, from 0.
        max_depth : int
            Levels of tests to write; what is below them is a "truncated branch".
        decimals : int
            Digits of thresholds behind the point.

        Returns
        -------
        str
            For each node its test, then the lines of those that pass it, then what the others
            have, and their lines. Categories are written as the sets of levels that go either way;
            missing values go with the line that says "or missing", else with the other. A leaf
            names the labels in the order that it votes for, best first.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> tree = LEARNERS["lrt"]()
        >>> tree = tree.fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]],
        ...                 feature_names=["age"], labels=["tea", "milk"])
        >>> print(tree.export_text())
        |--- age >= 1.50
        |   |--- ranking: milk > tea
        |--- age <  1.50
        |   |--- ranking: tea > milk
        """
        self._require_tree(tree)
        require_integer(max_depth, "max_depth", 1)
        require_integer(decimals, "decimals", 0)
        return text.export_text(self, tree, max_depth=max_depth, decimals=decimals)

    def trees_to_frame(self, output: str = "pandas") -> Any:
        """List the nodes of all trees, one a row, as XGBoost's ``trees_to_dataframe`` does.

        Parameters
        ----------
        output : {"pandas", "polars", "arrow"}
            The kind of data frame.

        Returns
        -------
        data frame, (n_nodes, 11 or 12)
            - tree: its number, from 0;
            - node: its number in the tree, from 0, level after level and from left to right, as
              the columns of :meth:`decision_path`;
            - depth: tests above it;
            - feature: name of the feature that it tests; A1, A2, ... where there are no names;
            - threshold: rows at or above it go left; -inf: all but missing values do; NaN for
              categories;
            - levels: only where the model knows categories, the levels that go left;
            - missing: the way of missing values, "left" or "right";
            - left, right: numbers of its children in the tree, -1 at a leaf;
            - gain: share of what the splits of its tree took away from the impurity; its mean over
              trees is ``feature_importances_``. NaN in a model from a file, which does not hold it;
            - leaf: its number as :meth:`apply` gives it, -1 where it is none;
            - ranking: of a leaf, the labels in the order that it votes for, as "a > b > c".

            Nothing (None, or null) where a column says nothing of a node.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> tree = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
        >>> nodes = tree.trees_to_frame("arrow")
        >>> nodes.select(["node", "threshold", "left", "ranking"]).to_pylist()
        [{'node': 0, 'threshold': 1.5, 'left': 1, 'ranking': None},
         {'node': 1, 'threshold': nan, 'left': -1, 'ranking': 'L2 > L1'},
         {'node': 2, 'threshold': nan, 'left': -1, 'ranking': 'L1 > L2'}]
        """
        require_choice(output, "output", ("pandas", "polars", "arrow"))
        require_output(output)
        self._require_tree(0)
        known = getattr(self, "_last_fit", None)
        return as_frame(table.node_columns(self, known.gain if known else None), output)

    def _require_tree(self, tree: int) -> None:
        forest: Forest = self.forest_
        require_integer(tree, "tree", 0, forest.n_trees - 1)
