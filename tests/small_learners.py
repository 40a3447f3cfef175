"""Learners that are quick to fit, for tests of what all of them promise."""

from lrrf_jax import LEARNERS

# Set where a learner has the parameter, unless a test says otherwise.
QUICK = {"n_hidden": 8, "members": ["rpc", "ib-m"], "n_folds": 2}


def small(name, **parameters):
    """Make a learner with those of the parameters that it has."""
    learner = LEARNERS[name]()
    known = learner.get_params()
    return learner.set_params(**{k: v for k, v in (QUICK | parameters).items() if k in known})
