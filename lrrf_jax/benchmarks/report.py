"""What people read of a document of measurements: lines, and Markdown tables."""

from typing import Any

from lrrf_jax.benchmarks import engines as names

_TITLES = {"predict": "Predict", "fit": "Fit"}
_BESIDE = names.OF_FEW_ROWS[1:]  # in no table of all numbers of rows
_FEW_ROWS = 100
# Title, kind of cell, the engine that the others stand beside, and those; all on one thread.
_REAL = (names.OURS_DEFAULT, names.OURS, names.OURS_PAIRWISE, names.LIGHTGBM)
_COMPARED = (
    ("Predict few rows, one thread", "predict", names.ONNX, names.OF_FEW_ROWS),
    ("Fit real tables, one thread", "real", names.SCIKIT_LEARN, _REAL),
    ("Fit small tables, one thread", "small", names.SCIKIT_LEARN, tuple(names.SMALL_FITS)),
)


def duration(seconds: float) -> str:
    """Write a time with three digits and a fitting unit.

    >>> duration(0.0000314), duration(0.0421), duration(12.34)
    ('31.4 us', '42.1 ms', '12.3 s')
    """
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, size in units.items() if seconds >= size), "ns")
    return f"{float(f'{seconds / units[unit]:.3g}'):g} {unit}"


def lines(cell: dict[str, Any]) -> list[str]:
    """Write one cell as lines of text: engine, threads, time, times that ours is as fast."""
    width = max(len(entry["engine"]) for entry in cell["engines"])
    out = []
    for entry in sorted(cell["engines"], key=lambda entry: entry["threads"]):
        ratio = f"{entry['ratio']:8.2f}x" if "ratio" in entry else " " * 9
        per_row = duration(entry["median_s"] / cell["rows"])
        out.append(
            f"  {entry['engine']:<{width}}  {entry['threads']} threads  "
            f"{duration(entry['median_s']):>8}{ratio}  {per_row:>8} per row  "
            f"({entry['rounds']} rounds, {entry['cores_used']:.1f} cores)"
        )
    out += [f"  {name}: {why}" for name, why in cell["skipped"].items()]
    unequal = {n: share for n, share in cell.get("rows_ranked_alike", {}).items() if share < 1}
    out += [f"  RANKS DIFFER from {name}: {share:.2%} alike" for name, share in unequal.items()]
    return out


def markdown(document: dict[str, Any]) -> str:
    """Write the tables of a document: times as fast as each peer, and the bars."""
    parts = [_hardware_line(document)]
    for kind, title in _TITLES.items():
        for threads in sorted({1, document["hardware"]["cores"]}):
            table = _table(document, kind, threads)
            if table:
                cores = "one thread" if threads == 1 else f"{threads} threads"
                parts.append(f"{title}, {cores}:\n\n{table}")
    for title, kind, base, engines in _COMPARED:
        table = _times(document, kind, base, engines)
        if table:
            parts.append(f"{title} (how many times as long {base} takes):\n\n{table}")
    parts += _agreement(document)
    if document["bars"]:
        parts.append(_bars(document["bars"]))
    return "\n\n".join(parts)


def summary(document: dict[str, Any]) -> str:
    """Say what machine and versions the lines are of, and what compilation cost."""
    compiled = [
        entry
        for cell in document["cells"]
        for entry in cell["engines"]
        if "programs_compiled" in entry
    ]
    seconds = sum(entry["compile_s"] for entry in compiled)
    programs = sum(entry["programs_compiled"] for entry in compiled)
    return (
        f"{_hardware_line(document)}\n"
        f"First calls compile: {programs} programs, {seconds:.1f} s, not in the times above."
    )


def unequal_ranks(document: dict[str, Any]) -> list[str]:
    """Name the cases in which a forest of equal trees ranked a row otherwise than ours."""
    return [
        f"{name}, {cell['shape']}, {cell['rows']} rows"
        for cell in document["cells"]
        for name, share in cell.get("rows_ranked_alike", {}).items()
        if share < 1
    ]


def _agreement(document: dict[str, Any]) -> list[str]:
    checked = [cell for cell in document["cells"] if cell.get("rows_ranked_alike")]
    said = []
    if unequal := unequal_ranks(document):
        said.append(f"**Ranks differ:** {'; '.join(unequal)}.")
    elif checked:
        names_of = dict.fromkeys(name for c in checked for name in c["rows_ranked_alike"])
        said.append(f"With our trees, {', '.join(names_of)} rank every compared row as we do.")
    for cell in document["cells"]:
        if shares := cell.get("top_label_accuracy"):
            told = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
            rows = f"{cell['rows']:,}"
            said.append(
                f"Top label of unseen rows right, {cell['shape']}, grown on {rows} rows: {told}."
            )
    return said


def _hardware_line(document: dict[str, Any]) -> str:
    machine, versions = document["hardware"], document["versions"]
    peers = ", ".join(
        f"{name} {versions[name]}"
        for name in ("jax", "scikit-learn", "onnxruntime", "treelite", "lightgbm")
        if versions.get(name, "not installed") != "not installed"
    )
    return (
        f"{document['what']}. {machine['processor']}, {machine['cores']} cores; {peers}; "
        f"{document['created'][:10]}."
    )


def _rows_of(cells: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _table(document: dict[str, Any], kind: str, threads: int) -> str:
    cells = [cell for cell in document["cells"] if cell["kind"] == kind]
    peers: list[str] = []
    for cell in cells:
        for entry in cell["engines"]:
            new = entry["engine"] not in (names.OURS, *_BESIDE, *peers)
            if entry["threads"] == threads and new:
                peers.append(entry["engine"])
    rows = []
    for cell in cells:
        timed = {e["engine"]: e for e in cell["engines"] if e["threads"] == threads}
        if names.OURS not in timed:
            continue
        row = [*_case(cell), duration(timed[names.OURS]["median_s"])]
        for peer in peers:
            row.append(f"{timed[peer]['ratio']:.3g}x" if peer in timed else "-")
        rows.append(row)
    if not rows:
        return ""
    return _rows_of([*_head(names.OURS, *peers), *rows])


def _head(*columns: str) -> list[list[str]]:
    return [["shape", "rows", *columns], ["---", *["---:"] * (len(columns) + 1)]]


def _case(cell: dict[str, Any]) -> list[str]:
    shape = f"d {cell['n_features']}, m {cell['n_labels']}"
    if cell["kind"] == "real":
        shape = f"{cell['shape']} ({shape})"
    return [shape, f"{cell['rows']:,}"]


def _times(document: dict[str, Any], kind: str, base: str, engines: tuple[str, ...]) -> str:
    """Write times on one thread, and beside each that of ``base`` as a multiple of it."""
    rows = []
    for cell in document["cells"]:
        seconds = {e["engine"]: e["median_s"] for e in cell["engines"] if e["threads"] == 1}
        is_large = kind == "predict" and cell["rows"] > _FEW_ROWS
        if cell["kind"] != kind or base not in seconds or is_large:
            continue
        beside = [
            f"{duration(seconds[name])} ({seconds[base] / seconds[name]:.3g}x)"
            if name in seconds
            else "-"
            for name in engines
        ]
        rows.append([*_case(cell), duration(seconds[base]), *beside])
    return _rows_of([*_head(base, *engines), *rows]) if rows else ""


def _bars(bars: list[dict[str, Any]]) -> str:
    rows = [["bar", "case", "required", "measured", ""], ["---"] * 5]
    for bar in bars:
        held = "held" if bar["held"] else "**missed**"
        if "note" in bar:
            held += f" ({bar['note']})"
        rows.append([bar["bar"], bar["case"], bar["required"], f"{bar['figure']:g}", held])
    return _rows_of(rows)
