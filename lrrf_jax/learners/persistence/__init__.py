"""Fitted learners in model files.

``schema``   what a file may hold, said next to each learner with `Annotated`, and checked
``forests``  trees node by node, so that a file follows what grew
``content``  parameters as named arrays, and what else a file says of a learner
``stored``   the base of learners that saves one, and makes it anew
"""
