"""What the forests among the learners share, in the order of the work.

``config``       settings, checked, and nothing left open
``targets``      rankings -> what splits set apart: the statistic that is summed, and its criterion
``aggregation``  rankings in a leaf -> its integers; their sums over trees -> a ranking
``samples``      a training table -> what the grower sums
``fit``          the trees, over devices and processes
``checkpoints``  finished trees on disk, from which a fit goes on
``predict``      rows -> rankings, on one device or several
``warm_start``   what the last fit saw, on which another goes on
``leaves``       where rows end; ``bootstraps``: which rows trees drew
``out_of_bag``   training rows, ranked by the trees that did not draw them
``leaf_size``      the smallest leaf, where the rows decide
``early_stopping``  growing until more trees do not help
``neighbors``, ``proximity``  rows that share leaves
``nodes``, ``text``, ``table``  the nodes that grew: ways through them, in words, in a frame
``covers``, ``leaf_paths``, ``shapley``, ``attribution``, ``explanation``  SHAP values: rows in
                 nodes, ways to leaves, the program, of a forest, with names
``path``         the way of one row in words
``views``, ``reasons``  what users ask of trees besides rankings, and why
``tree_ranker``  the shell around one tree or many
``ranker``       the shell around a forest
``mallows``      the same with the centres of Mallows' distributions in the leaves
"""
