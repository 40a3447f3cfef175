"""What README and the pages in docs/ show is what happens.

The blocks of a page are one story: they run one after another, in one folder and one namespace.
"""

import contextlib
import doctest
import io
import itertools
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys

import pytest

from lrrf_jax import LEARNERS, RandomForestLabelRanker, cli
from lrrf_jax.datasets import load

DOCS = pathlib.Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = [README, *(page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts)]

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Commands that install, need a cluster or another language, or take long and are tested elsewhere.
NOT_RUN = re.compile(r"(python|pip|nvidia-smi|spark-submit|ray|lrrf doctor|lrrf serve)\b")


def blocks_of(page):
    """Give the fenced blocks of a page, as pairs of language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.M)


def is_session(text):
    return text.startswith(">>> ")


def programs_of(page):
    blocks = blocks_of(page)
    return [text for language, text in blocks if language == "python" and not is_session(text)]


def commands_of(text):
    """Give the commands of a console block, each with what is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        typed, _, shown = part.partition("\n")
        while typed.endswith("\\"):
            more, _, shown = shown.partition("\n")
            typed = typed[:-1] + more
        yield typed, shown


class Shell:
    """Types commands: those of lrrf in this process, for a start takes seconds."""

    def __init__(self):
        self.code = 0
        self.script = ""  # the last one that the page shows

    def type(self, typed):
        if typed == "echo $?":
            code, self.code = self.code, 0
            return f"{code}\n"
        if typed.startswith("sbatch "):
            return self.run_array()
        words = shlex.split(typed)
        if words[0] == "lrrf" and "--memory-budget" in words:  # this process holds more by now
            program = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
            typed = shlex.join([sys.executable, "-c", program, *words[1:]])
        elif words[0] == "lrrf":
            with (
                contextlib.redirect_stderr(io.StringIO()) as told,
                contextlib.redirect_stdout(told),
            ):
                self.code = cli.main(words[1:])
            return told.getvalue()
        done = subprocess.run(typed, shell=True, capture_output=True, text=True, check=False)
        self.code = done.returncode
        return done.stdout + done.stderr

    def run_array(self):
        """Run what a script for Slurm does, once for each task of its array."""
        count = int(re.search(r"--array=1-(\d+)$", self.script, re.M)[1])
        lines = self.script.replace("\\\n", "").splitlines()
        lines = [line for line in lines if line.startswith("lrrf ")]
        assert lines
        for line, task in itertools.product(lines, range(1, count + 1)):
            typed = line.replace("$SLURM_ARRAY_TASK_ID", str(task))
            printed = self.type(typed.replace("$SLURM_ARRAY_TASK_COUNT", str(count)))
            if self.code:
                return printed
        return ""


def difference(typed, shown, printed):
    """Tell how what is printed differs from what is shown, if it does."""
    checker = doctest.OutputChecker()
    if not shown.strip() or checker.check_output(shown, printed, FLAGS):
        return None
    example = doctest.Example(typed, shown)
    return f"{typed}\n{checker.output_difference(example, printed, FLAGS)}"


def run_console(text, shell):
    commands = list(commands_of(text))
    for (typed, shown), following in zip(commands, [*commands[1:], ("", "")], strict=True):
        if NOT_RUN.match(typed):
            continue
        printed = shell.type(typed)
        assert shell.code == 0 or following[0] == "echo $?", (typed, printed)
        assert (told := difference(typed, shown, printed)) is None, told


def run_program(text, page, names):
    program = compile(text, str(page), "exec")
    if name := re.match(r"# (\w+\.py)\n", text):  # a file that the page starts later
        pathlib.Path(name[1]).write_text(text, "utf-8")
    else:
        exec(program, names)


def run_session(text, page, names):
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    test.globs = names  # not a copy: later blocks go on from here
    assert test.examples
    said = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)


WITH_BLOCKS = [
    page
    for page in PAGES
    if any(language in ("python", "console") for language, _ in blocks_of(page))
]


@pytest.mark.filterwarnings("ignore:.* rows rank too few labels:UserWarning")  # deleted at random
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_do_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, shell = {"__name__": page.stem}, Shell()
    for language, text in blocks_of(page):
        if language == "python" and is_session(text):
            run_session(text, page, names)
        elif language == "python":
            run_program(text, page, names)
        elif language == "console" and page.stem != "command-line":  # has a test of its own
            run_console(text, shell)
        elif language == "bash":
            shell.script = text


def test_some_page_has_sessions_some_programs_and_some_commands():
    assert {"forests", "README", "tutorial"} <= {page.stem for page in WITH_BLOCKS}


def rows_of_learners(page):
    """Numbers of the rows of a table that begin with the name of a learner."""
    rows = re.findall(r"^\| `([\w-]+)` \| (\.\d+.*) \|$", page.read_text("utf-8"), re.M)
    return {name: cells.split(" | ") for name, cells in rows}


def test_the_figures_by_which_a_learner_is_chosen_are_those_of_the_paper_redone():
    there = rows_of_learners(DOCS / "background/paper.md")
    here = rows_of_learners(DOCS / "how-to/choose-a-learner.md")
    assert there.keys() == LEARNERS.keys() - {"stack", "lr-boost", "mlp"}  # which came later
    for name, cells in there.items():
        assert here[name][:3] == cells[::2], name


def headings_of(page):
    """Anchors of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_to_pages_and_headings_that_are_there(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not heading or heading in headings_of(target), link


@pytest.mark.slow
def test_two_processes_grow_the_forest_that_one_grows_as_the_page_shows(tmp_path):
    [program] = [
        text
        for text in programs_of(DOCS / "how-to/many-machines.md")
        if text.startswith("# fit.py")
    ]
    (tmp_path / "fit.py").write_text(program, "utf-8")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    path = os.pathsep.join([str(DOCS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    started = [
        subprocess.Popen(
            [sys.executable, "fit.py", address, "2", str(number)],
            cwd=tmp_path,
            env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for process in started:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    iris = load("iris")
    alone = RandomForestLabelRanker(n_estimators=40, random_state=0).fit(iris.X, iris.y)
    alone.save(tmp_path / "alone.lrrf")
    assert (tmp_path / "forest.lrrf").read_bytes() == (tmp_path / "alone.lrrf").read_bytes()
