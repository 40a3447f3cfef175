"""JAX tried out in a process of its own, which may crash or hang: ``python -m`` this module.

It writes a line of JSON for each step that worked, so that the last one tells how far it came.
"""

import hashlib
import json
import time
from typing import Any

# Of the positions that the forest below gives its training rows, the same on every machine.
GOLDEN = "6a45847910cd9121"


def steps() -> None:
    """Import JAX, list its devices, fit and apply a forest of a few rows."""

    def tell(step: str, seconds: float, **found: Any) -> None:
        print(json.dumps({"step": step, "seconds": round(seconds, 3), **found}), flush=True)

    started = time.perf_counter()
    import jax
    import numpy as np

    tell("import", time.perf_counter() - started)
    from lrrf_jax._jax_backend import require_backend
    from lrrf_jax._validation import BackendError

    started = time.perf_counter()
    try:
        require_backend()
    except BackendError as error:
        tell("refused", time.perf_counter() - started, reason=str(error))
        return
    devices = [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()]
    tell("devices", time.perf_counter() - started, devices=devices)
    from lrrf_jax import RandomForestLabelRanker

    row = np.arange(48)[:, None]
    X = ((row * [3, 5, 7] + [0, 1, 2]) % 11).astype(np.float32)
    scores = 4 * (X - np.roll(X, 1, axis=1)) + [0, 1, 2]  # no two labels tie
    for step in ("first fit", "second fit"):
        started = time.perf_counter()
        ranker = RandomForestLabelRanker(5, max_depth=4, random_state=0).fit(X, scores=scores)
        tell(step, time.perf_counter() - started)
    started = time.perf_counter()
    ranks = np.ascontiguousarray(ranker.predict(X), "<i4")
    digest = hashlib.sha256(ranks.tobytes()).hexdigest()[:16]
    tell("predict", time.perf_counter() - started, digest=digest)


if __name__ == "__main__":
    steps()
