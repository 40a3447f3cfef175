"""Several devices and hosts: which of them fits and predictions use, and what users do for it.

One process, several accelerators: nothing. Trees are spread over all of them in ``fit``, rows in
``predict``; :func:`use_devices` chooses others.

Several processes, on one host or many: each calls ``jax.distributed.initialize`` (see there for
what a cluster needs), and then ``fit`` with the same rows, parameters and ``random_state``. Each
grows its share of the trees, and each ends with the whole forest, the same to the byte as one
process would grow. ``predict`` is the work of one process, on its own devices: let each predict
its own rows. A process that is to fit alone says ``with use_devices(jax.local_devices())``;
otherwise it waits for the others.

Where a process dies, the others fail too, after JAX's heartbeat. Start all of them again, with
``fit(..., checkpoint=directory)``, and only the trees of the last seconds grow again. The
directory is read and written by the first process alone.

The program of each process, started with its number and the address of the first::

    jax.distributed.initialize(address, n_processes, number)
    ranker = RandomForestLabelRanker(n_estimators=1000, random_state=0)
    ranker.fit(X, y, checkpoint="forest.trees")
    if jax.process_index() == 0:
        ranker.save("forest.lrrf")
"""

from lrrf_jax._devices import use_devices

__all__ = ["use_devices"]
