"""What the learners share that rank by the rankings of near rows.

``params``      the training rows, and the settings
``labels``      the order of labels in which rankings with ties are modelled
``search``      the nearest training rows of each row
``distances``   squared distances that depend on the two rows alone
``selection``   the smallest numbers of each row
``scores``      near rankings weighed, and the scores that a model gives to the labels
``choice``      how many neighbours, by cross-validation
``ranker``      the shell around them
"""
