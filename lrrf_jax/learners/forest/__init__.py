"""What the forests among the learners share, in the order of the work.

``config``       settings, checked, and nothing left open
``targets``      rankings -> what splits set apart: the statistic that is summed, and its criterion
``aggregation``  rankings in a leaf -> its integers; their sums over trees -> a ranking
``samples``      a training table -> what the grower sums
``fit``          the trees, over devices and processes
``checkpoints``  finished trees on disk, from which a fit goes on
``predict``      rows -> rankings, on one device or several
``warm_start``   what the last fit saw, on which another goes on
``views``        what else a forest tells: leaves, neighbours, out-of-bag rankings
``ranker``       the shell around all this
``mallows``      the same with the centres of Mallows' distributions in the leaves
"""
