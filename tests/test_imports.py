"""What is imported, and when: each test starts a process of its own."""

import pathlib
import subprocess
import sys
import textwrap

HEAVY = (
    *("jax", "sklearn", "scipy", "pyarrow", "narwhals", "pandas", "polars", "optax"),
    *("matplotlib", "tqdm", "jinja2"),
)
MODEL = pathlib.Path(__file__).parent / "models/v2/default.lrrf"


def loaded(code, *arguments):
    """Run code in a process of its own; returns which heavy packages it has loaded at its end."""
    code = textwrap.dedent(code) + f"\nimport sys\nprint(*(set({HEAVY}) & set(sys.modules)))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_the_names_of_learners_and_the_makers_of_data_load_nothing_heavy():
    code = """
        import lrrf_jax
        from lrrf_jax import LEARNERS, InputError, load, use_compilation_cache
        from lrrf_jax.datasets import builtin_names, from_regression
        from lrrf_jax.rankings import rankings_from_scores
        assert "lr-rf" in LEARNERS and "nothing" not in LEARNERS
        rankings_from_scores([[0.5, 0.25]])
        try:
            load("none.lrrf")
        except lrrf_jax.ModelFileError as error:
            assert "there is no such file" in str(error)
    """
    assert loaded(code) == set()


def test_a_forest_is_made_fitted_applied_saved_and_loaded_with_jax_alone(tmp_path):
    code = """
        import sys
        import numpy as np
        from lrrf_jax import LEARNERS, RandomForestLabelRanker, load, metrics
        assert sys.modules.keys() & {"lrrf_jax.learners.rpc", "lrrf_jax.learners.cc"} == set()
        x = np.arange(24, dtype=np.float32).reshape(8, 3)
        y = np.array([[1, 2, 3], [3, 2, 1]] * 4)
        ranker = RandomForestLabelRanker(2, max_depth=2).fit(x, y)
        ranker.predict(x), ranker.predict_scores(x), ranker.predict_order(x), ranker.score(x, y)
        ranker.set_params(random_state=1)
        assert "(max_depth=2, n_estimators=2, random_state=1)" in repr(ranker)
        ranker.save(sys.argv[1])
        assert load(sys.argv[1]).get_params() == ranker.get_params()
        LEARNERS["default"]().fit(x, y).predict(x)
    """
    assert loaded(code, tmp_path / "forest.lrrf") == {"jax"}


def test_evaluation_metrics_and_plots_import_scikit_learn_scipy_and_matplotlib_when_used():
    code = """
        import sys
        import lrrf_jax.evaluation, lrrf_jax.metrics, lrrf_jax.plotting
        assert "scipy.stats" not in sys.modules  # scipy itself imports its parts when used
    """
    assert loaded(code) <= {"jax", "scipy", "tqdm"}


def test_tables_are_read_with_pyarrow_and_without_jax(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_text("A1,L1,L2\n1,1,2\n2,2,1\n")
    code = "import sys, lrrf_jax.datasets as d; assert d.read(sys.argv[1]).X.shape == (2, 1)"
    assert loaded(code, path) - {"pandas"} == {"pyarrow"}  # it imports pandas, where that is there


WRONG = {  # what is typed -> the exit code, and what is said
    "--helpp": (2, "No such option: --helpp"),
    "trane": (2, "No such command 'trane'"),
    "train none.csv --model m": (3, "none.csv: there is no such file"),
    "train toy.csv --labels Z* --model m": (3, "labels asks for 'Z*'"),
    "train toy.csv --model none/m": (3, "there is no directory 'none'"),
    "train toy.csv --model m --learner lr-fr": (2, "there is no learner 'lr-fr'"),
    "train builtin:irish --model m": (3, "there is no built-in data set 'irish'"),
    "train kebi:irish --model m": (3, "there is no KEBI set 'irish'"),
    "predict none.lrrf toy.csv --output r.csv": (4, "none.lrrf: there is no such file"),
    "predict toy.csv toy.csv --output r.csv": (4, "is no model file"),
    "predict MODEL none.csv --output r.csv": (3, "none.csv: there is no such file"),
    "predict MODEL none.csv --output r.csv --json": (3, "none.csv: there is no such file"),
    "predict MODEL toy.csv --output r.csv": (3, "feature columns of the model are not there"),
    "predict MODEL toy.csv --output none/r.csv": (3, "there is no directory 'none'"),
    "predict MODEL toy.csv --output toy.csv": (2, "toy.csv is an input"),
    "predict MODEL toy.csv --output r.csv --keep id": (3, "are not there"),
    "predict MODEL toy.csv --output r --shard 9/3": (2, "shard must be i/n"),
    "inspect none.lrrf": (4, "none.lrrf: there is no such file"),
    "export none.lrrf --output m.onnx": (4, "none.lrrf: there is no such file"),
    "export MODEL --output m.pmml": (2, "the suffix must tell the format"),
    "export MODEL --output none/m.onnx": (3, "there is no directory 'none'"),
    "serve none.lrrf": (4, "none.lrrf: there is no such file"),
    "evaluate none.csv": (3, "none.csv: there is no such file"),
    "evaluate none.csv neither.csv": (3, "2 of 2 failed"),
    "evaluate toy.csv --labels Z*": (3, "labels asks for 'Z*'"),
    "evaluate toy.csv --learner lr-fr": (2, "there is no learner 'lr-fr'"),
    "evaluate none.csv --model MODEL": (3, "none.csv: there is no such file"),
    "evaluate toy.csv --model none.lrrf": (4, "none.lrrf: there is no such file"),
    "datasets describe none.csv": (3, "none.csv: there is no such file"),
    "datasets fetch irish": (3, "there is no KEBI set 'irish'"),
}


# What is said after a model is read, or several files are looked for, may take NumPy.
_LATE = ("columns of the model", "are not there", "no model file", "of 2 failed", "keep asks")


def test_the_command_line_tells_what_is_wrong_before_jax_is_imported(tmp_path):
    (tmp_path / "toy.csv").write_text("B1,L1,L2\n1,1,2\n2,2,1\n")
    wrong = {typed.replace("MODEL", str(MODEL)): expected for typed, expected in WRONG.items()}
    # Those that take less first, for what is imported stays so.
    order = sorted(wrong, key=lambda typed: any(part in wrong[typed][1] for part in _LATE))
    code = f"""
        import contextlib, io, os, sys
        from lrrf_jax.cli import main
        os.chdir({str(tmp_path)!r})
        for typed in {order!r}:
            expected, words = {wrong!r}[typed]
            with contextlib.redirect_stderr(io.StringIO()) as said:
                code = main(typed.split())
            assert (code, words in said.getvalue()) == (expected, True), (typed, said.getvalue())
            loaded = {{"jax", "sklearn", "scipy", "pandas"}} & set(sys.modules)
            loaded |= {{"pyarrow"}} & set(sys.modules)
            if not any(part in words for part in {_LATE!r}):
                loaded |= {{"numpy"}} & set(sys.modules)
            assert not loaded, (typed, loaded)
    """
    assert loaded(code) == {"tqdm"}  # for `datasets fetch`
    assert [path.name for path in tmp_path.iterdir()] == ["toy.csv"]
