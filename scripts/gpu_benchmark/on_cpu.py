"""Do something in a process that has the CPU alone, and bring the result here."""

import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from typing import Any

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]


def in_cpu_process(name: str, *arguments: Any) -> Any:
    """Call ``predicted`` or ``fitted_forest`` there."""
    with tempfile.TemporaryDirectory() as folder:
        task, answer = pathlib.Path(folder, "task"), pathlib.Path(folder, "answer")
        task.write_bytes(pickle.dumps((name, arguments)))
        subprocess.run(
            [sys.executable, __file__, task, answer],
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
            check=True,
        )
        return pickle.loads(answer.read_bytes())


def predicted(ranker: Any, features: Any) -> Any:
    """Rank rows."""
    return ranker.predict(features)


def main() -> None:
    sys.path[:0] = [str(SCRIPTS), str(SCRIPTS.parent)]
    from gpu_benchmark.training import fitted_forest

    task, answer = map(pathlib.Path, sys.argv[1:])
    name, arguments = pickle.loads(task.read_bytes())
    function = {"predicted": predicted, "fitted_forest": fitted_forest}[name]
    answer.write_bytes(pickle.dumps(function(*arguments)))


if __name__ == "__main__":
    main()
