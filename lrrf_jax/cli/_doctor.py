"""What `lrrf doctor` looks at. Nothing here raises: what fails is what it is there to tell."""

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import lrrf_jax
from lrrf_jax.cli._trial import GOLDEN

_NEEDED = (
    *("jax", "jaxlib", "numpy", "scipy", "scikit-learn", "optax", "chex", "pyarrow", "typer"),
    *("rich", "tqdm", "filelock", "platformdirs", "jinja2"),
)
_FURTHER = {  # what is good to have -> how it is installed
    "pandas": "pip install pandas",
    "polars": "pip install polars",
    "matplotlib": "pip install 'lrrf_jax[plot]'",
    "pooch": "pip install 'lrrf_jax[datasets]'",
    "ray": "pip install 'lrrf_jax[ray]'",
    "fastapi": "pip install 'lrrf_jax[serve]'",
}
_PLUGINS = re.compile(r"jax[-_](cuda|rocm|metal).*|libtpu.*")
_VARIABLES = re.compile(
    r"(JAX|XLA|LRRF|OMP|OPENBLAS|MKL|CUDA_VISIBLE|ROCR_VISIBLE|HIP_VISIBLE|NVIDIA)_\w+|XLA_FLAGS|"
    r"CUDA_VISIBLE_DEVICES|NPROC|TMPDIR|XDG_CACHE_HOME|LD_LIBRARY_PATH|PYTHONPATH"
)
_NVIDIA = "/dev/nvidiactl"  # which its driver makes
_TRIAL_SECONDS = 180
_LEAST_FREE = 100 << 20  # bytes


class Report:
    """What was found, by section, and what is wrong, with ways out."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []

    def look(self, section: str, find: Callable[["Report"], dict[str, Any]]) -> None:
        """Fill a section; what fails there is a problem."""
        try:
            self.sections[section] = find(self)
        except Exception as error:
            self.sections[section] = {}
            self.problems.append(
                f"{section}: could not be looked at ({type(error).__name__}: {error}). Report it "
                "with the rest of what is shown here."
            )


def examine() -> Iterator[tuple[str, Report]]:
    """Look at everything; a section at a time, since the last one takes seconds."""
    report = Report()
    for section, find in (
        ("versions", _versions),
        ("optional", _optional),
        ("machine", _machine),
        ("environment", _environment),
        ("programs kept", _cache),
        ("trial", _trial),
    ):
        report.look(section, find)
        yield section, report


def _versions(report: Report) -> dict[str, Any]:
    found = {"lrrf_jax": lrrf_jax.__version__, "python": platform.python_version()}
    found |= {name: _version(name) or "not installed" for name in _NEEDED}
    lacking = [name for name in _NEEDED if found[name] == "not installed"]
    if lacking:
        report.problems.append(
            f"{', '.join(lacking)}: not installed, and needed. Run pip install lrrf_jax again, in "
            f"the environment of {sys.executable}."
        )
    plugins = _plugins()
    for name, version in sorted(plugins.items()):
        found[name] = version
        # The rule of jaxlib.plugin_support: another release is not used. ROCm has its own.
        if "cuda" in name and _release(version) != _release(found["jaxlib"]):
            kind = re.sub(r".*(cuda\d*).*", r"\1", name)
            report.problems.append(
                f"{name} is {version} and jaxlib {found['jaxlib']}: JAX does not use a plugin of "
                f'another release. Run pip install -U "jax[{kind}]=={found["jax"]}".'
            )
    if os.path.exists(_NVIDIA) and not any("cuda" in name for name in plugins):
        report.notes.append(
            "an NVIDIA driver is there, and JAX has no plugin for it: the CPU does the work. To "
            "use the GPU, run pip install 'lrrf_jax[cuda13]' or 'lrrf_jax[cuda12]', as the driver "
            "allows."
        )
    return found


def _plugins() -> dict[str, str]:
    names = [(found.metadata["Name"] or "").lower() for found in importlib.metadata.distributions()]
    return {name: _version(name) or "?" for name in names if _PLUGINS.fullmatch(name)}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(version: str) -> str:
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return match[0] if match else version


def _optional(report: Report) -> dict[str, Any]:
    return {name: _version(name) or f"not installed ({how})" for name, how in _FURTHER.items()}


def _machine(report: Report) -> dict[str, Any]:
    from lrrf_jax._threads import thread_count

    threads, cores = thread_count(), os.cpu_count() or 1
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": cores,
        "threads used": threads,
    }
    quota = _quota()
    if quota is not None:
        found["cores of the container"] = quota
        if quota < threads:
            report.notes.append(
                f"this container may use {quota:g} cores, and {threads} threads share them. Start "
                f"it on {max(1, round(quota))}: taskset -c 0-{max(0, round(quota) - 1)} lrrf ..."
            )
    if hasattr(os, "getloadavg"):
        found["load"] = round(os.getloadavg()[0], 1)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory"] = _size(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found["temporary files"] = f"{folder}, {_size(free)} free"
    if free < _LEAST_FREE:
        report.problems.append(
            f"{folder}: {_size(free)} free for temporary files, which pipes are kept in. Free "
            "space, or name another folder in TMPDIR."
        )
    return found


def _quota() -> float | None:
    """Return how many cores the control group of a container may keep busy."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            most, period = file.read().split()
    except (OSError, ValueError):
        return None
    return None if most == "max" else int(most) / int(period)


def _environment(report: Report) -> dict[str, Any]:
    names = {name for name in os.environ if _VARIABLES.fullmatch(name)}
    return {name: os.environ[name] for name in sorted(names - {"OPENBLAS_THREAD_TIMEOUT"})}  # ours


def _cache(report: Report) -> dict[str, Any]:
    from lrrf_jax._cache_folder import default_directory, is_in_own_home, is_own
    from lrrf_jax._program_store import MAX_BYTES, VARIABLE, is_off

    own, of_jax = os.environ.get(VARIABLE), os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if of_jax:
        return {"place": of_jax, "by": "JAX_COMPILATION_CACHE_DIR"} | _content(of_jax)
    if is_off(own):
        report.notes.append(
            f"{VARIABLE}={own}: no programs are kept, and each process compiles for seconds. Unset "
            "it to keep them."
        )
        return {"place": "none", "by": VARIABLE}
    place = own or default_directory()
    found = {"place": place, "by": VARIABLE if own else "default"}
    found |= {**_content(place), "most": _size(MAX_BYTES)}
    there = place
    while not os.path.exists(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    way_out = f"name another folder in {VARIABLE}."
    if not os.access(there, os.W_OK):
        report.problems.append(
            f"{there}: is read-only, no programs are kept there, and each process compiles for "
            f"seconds. Make it writable, or {way_out}"
        )
    elif there == place and not is_own(os.stat(place)):
        report.problems.append(
            f"{place}: others may write to it, and programs there would be run. It is not used. "
            f"Own it and chmod o-w it, or {way_out}"
        )
    elif not own and not is_in_own_home(place):
        report.notes.append(f"{place} is in the home of another user. To keep programs, {way_out}")
    return found


def _content(folder: str) -> dict[str, Any]:
    count = size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.path.getsize(os.path.join(base, name))
            except OSError:  # another process removed it
                continue
            count += 1
    return {"files": count, "size": _size(size)}


def _trial(report: Report) -> dict[str, Any]:
    """Run `_trial` in a process of its own: a broken JAX may crash, or never return."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(lrrf_jax.__file__)))
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "lrrf_jax.cli._trial"]
    variables = {**os.environ, "PYTHONPATH": path}
    options: dict[str, Any] = {"env": variables, "stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_TRIAL_SECONDS, check=False, **options
        )
        out, err, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        out, err, code = late.stdout or b"", late.stderr or b"", None
    steps = [json.loads(line) for line in out.decode().splitlines() if line.startswith("{")]
    found: dict[str, Any] = {}
    for step in steps:
        if step["step"] == "devices":
            found["devices"] = step["devices"]
        if step["step"] != "refused":
            found[f"{step['step']}, s"] = step["seconds"]
    last = steps[-1] if steps else {"step": "start"}
    if last["step"] == "refused":
        report.problems.append(last["reason"])
    elif last["step"] != "predict":
        report.problems.append(_broken(last["step"], err.decode(errors="replace"), code))
    else:
        found["result"] = "as it should be" if last["digest"] == GOLDEN else "another one"
        if last["digest"] != GOLDEN:
            report.problems.append(
                "a forest that is the same on every machine ranks its rows otherwise here "
                f"({last['digest']}, not {GOLDEN}). Report it, with the rest of what is shown here."
            )
    return found


_NEXT = {
    "start": "JAX is imported",
    "import": "its devices are listed",
    "devices": "a small forest is fitted",
    "first fit": "it is fitted again",
    "second fit": "it is applied",
}


def _broken(last: str, err: str, code: int | None) -> str:
    """Say how a trial ended that did not come to its end."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b|F\d{4} ", line)]
    said = (telling or lines or [""])[-1]
    if code is None:
        how = f"nothing happens for {_TRIAL_SECONDS} s"
    elif code < 0:
        how = f"the process ends by signal {-code}"
    else:
        how = f"it fails with code {code}"
    way_out = "Try JAX_PLATFORMS=cpu"
    if "XLA_FLAGS" in said or "XLA_FLAGS" in os.environ:
        way_out = "Unset XLA_FLAGS"
    elif last == "start":
        way_out = "Install JAX again: pip install -U jax jaxlib"
    said = f" It says: {said[:300].rstrip('.')}." if said else ""
    return f"when {_NEXT.get(last, last)}, {how}.{said} {way_out}."


def _size(n_bytes: float) -> str:
    """Write a number of bytes.

    >>> _size(3 << 20), _size(12)
    ('3.0 MiB', '12 bytes')
    """
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n_bytes >= 1 << power:
            return f"{n_bytes / (1 << power):.1f} {unit}"
    return f"{n_bytes:g} bytes"
