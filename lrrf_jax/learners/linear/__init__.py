"""What the learners with linear models share.

``params``   the model, and features of unit variance
``blocks``   rows in blocks, and sums over them in a fixed order
``predict``  linear functions of rows, to the same bits whatever the number of rows
``ranker``   the shell around them
"""
