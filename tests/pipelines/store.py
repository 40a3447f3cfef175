"""Makes the stored pipelines of the present format: ``python -m tests.pipelines.store``.

With what they said of the rows of `table` then. They are kept and loaded for ever, so what is there
already is never made again.
"""

import pathlib

import numpy as np

from lrrf_jax import RankingPipeline, model_file
from tests.pipelines.tables import NUMBERS, OF_FRAMES, OF_NUMBERS, pipeline, table

FOLDER = pathlib.Path(__file__).parent
CASES = {
    "numbers": (OF_NUMBERS["many"], "rpc", NUMBERS),
    "frames": (OF_FRAMES["all at once"], "rpc", None),
    "ordinal": (OF_FRAMES["ordinal, unknown and missing named"], "lrt", None),
}


def rows_of(columns):
    X, _ = table()
    return X if columns is None else X[columns]


def main():
    folder = FOLDER / f"v{model_file.FORMAT_VERSION}"
    folder.mkdir(exist_ok=True)
    for case, (steps, learner, columns) in CASES.items():
        if (folder / f"{case}.lrrf").exists():
            continue
        rows = rows_of(columns)
        fitted = RankingPipeline(pipeline(steps, learner)).fit(rows, table()[1])
        fitted.save(folder / f"{case}.lrrf")
        said = {"ranks": fitted.predict(rows), "scores": fitted.predict_scores(rows)}
        np.savez_compressed(folder / f"{case}.npz", **said)


if __name__ == "__main__":
    main()
