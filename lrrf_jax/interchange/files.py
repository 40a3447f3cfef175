"""Files of other libraries: what ``export`` of a learner writes."""

import contextlib
import json
import os
from collections.abc import Callable
from typing import Any

from lrrf_jax._export_formats import files_of, format_of, require_free
from lrrf_jax._files import replacing
from lrrf_jax._validation import unwritable
from lrrf_jax.interchange.facts import require_package


def export_model(
    ranker: Any, path: str | os.PathLike[str], format: str | None, overwrite: bool
) -> tuple[str, ...]:
    """Write a fitted learner for other libraries; see `StoredModel.export`."""
    place = os.fsdecode(path)
    chosen = format_of(place, format)
    files = files_of(place, chosen)
    require_free(files, overwrite)
    contents = _CONTENTS[chosen](ranker)
    try:
        with contextlib.ExitStack() as stack:  # the model appears last, when all is written
            opened = [stack.enter_context(replacing(file)) for file in files]
            for file, content in zip(opened, contents, strict=True):
                file.write(content)
    except OSError as error:
        raise unwritable(place, error) from error
    return files


def _onnx(ranker: Any) -> list[bytes]:
    from lrrf_jax.interchange.to_onnx import to_onnx

    return [to_onnx(ranker).SerializeToString()]


def _treelite(ranker: Any) -> list[bytes]:
    from lrrf_jax.interchange.to_treelite import to_treelite

    return [to_treelite(ranker).serialize_bytes()]


def _stablehlo(ranker: Any) -> list[bytes]:
    from lrrf_jax.interchange.to_stablehlo import facts_of, to_stablehlo

    require_package("flatbuffers", "a file of StableHLO")
    exported = to_stablehlo(ranker)
    facts = json.dumps(facts_of(ranker, exported), indent=2, allow_nan=False)
    return [exported.serialize(), f"{facts}\n".encode()]


_CONTENTS: dict[str, Callable[[Any], list[bytes]]] = {
    "onnx": _onnx,
    "treelite": _treelite,
    "stablehlo": _stablehlo,
}
