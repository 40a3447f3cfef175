"""The Ray workers without Ray, and, marked slow, with a local Ray."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from lrrf_jax import ConsensusLabelRanker, InputError, ModelFileError, RandomForestLabelRanker
from lrrf_jax import _threads as threads
from lrrf_jax.distributed import predict_dataset, ray_data
from lrrf_jax.distributed.ray_data import RankingWorker

NAMES = ["width", "height"]
LABELS = ["a", "b", "c"]


def table(n_rows, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 2)).astype(np.float32)
    X[::7, 0] = np.nan
    return X, pa.table({"height": X[:, 1], "id": np.arange(n_rows), "width": X[:, 0]})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that costs no compilation worth the name."""
    path = tmp_path_factory.mktemp("model") / "consensus.lrrf"
    y = [[2, 1, 3], [2, 1, 3], [1, 2, 3]]
    ConsensusLabelRanker().fit(
        [[0, 1], [1, 0], [1, 1]], y, feature_names=NAMES, labels=LABELS
    ).save(path)
    return path


@pytest.fixture
def as_in_a_worker(monkeypatch):
    """Undo what a worker does to its process."""
    for name in ("NPROC", "JAX_PLATFORMS", "XLA_PYTHON_CLIENT_PREALLOCATE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield
    threads.limit_threads(None)


def worker(model, **options):
    given = {"keep": ["id"], "features": None, "batch_rows": 8, "num_cpus": 1, "num_gpus": 0}
    return RankingWorker(model.read_bytes(), **{**given, **options})


class TestWorker:
    def test_computes_as_many_rows_at_once_whatever_the_batch(
        self, model, as_in_a_worker, monkeypatch
    ):
        computed = []
        predict = ConsensusLabelRanker.predict
        monkeypatch.setattr(
            ConsensusLabelRanker,
            "predict",
            lambda self, X: computed.append(X.shape) or predict(self, X),
        )
        rank = worker(model)
        assert computed == [(8, 2)]  # compiled before the first batch
        for n_rows in (1, 5, 8, 0):
            got = rank(table(n_rows)[1])
            assert got.column_names == ["id", *LABELS]
            assert got["id"].to_pylist() == list(range(n_rows))
            assert got["a"].to_pylist() == [2] * n_rows
        assert computed == [(8, 2)] * 4  # no rows, no computation

    @pytest.mark.parametrize(("num_cpus", "expected"), [(1, 1), (0.5, 1), (3, 3), (None, 64)])
    def test_uses_as_many_threads_as_cores_are_set_aside(
        self, model, as_in_a_worker, monkeypatch, num_cpus, expected
    ):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
        assert threads.thread_count() == 64
        worker(model, num_cpus=num_cpus)
        assert threads.thread_count() == expected
        assert os.environ.get("NPROC") == (None if num_cpus is None else str(expected))

    def test_ranks_categories_and_answers_what_is_asked_for(self, tmp_path, as_in_a_worker):
        rows = pa.table({"kind": ["p", "q"] * 8, "size": np.arange(16.0), "id": range(16)})
        y = [[1, 2, 3], [3, 1, 2]] * 8
        ranker = RandomForestLabelRanker(n_estimators=3, max_depth=2, random_state=0)
        ranker.fit(rows.select(["kind", "size"]), y, labels=LABELS).save(tmp_path / "m")
        strange = rows.set_column(0, "kind", pa.array(["p", "q", "r", None] * 4))
        for table, unseen in ((rows, None), (strange, "missing")):
            known = pa.array(
                [k if k in ("p", "q") else None for k in table["kind"].fill_null("").to_pylist()]
            )
            frame = table.select(["kind", "size"]).set_column(0, "kind", known)
            for top, columns in ((None, LABELS), (2, ["place_1", "place_2"])):
                got = worker(tmp_path / "m", top=top, unseen=unseen)(table)
                assert got.column_names == ["id", *columns]
                expected = ranker.predict_order(frame)[:, :2] if top else ranker.predict(frame)
                assert got.drop_columns("id").to_pandas().to_numpy().tolist() == expected.tolist()
        with pytest.raises(InputError, match="row 3, column 'kind' is 'r'"):
            worker(tmp_path / "m")(strange)

    def test_sees_no_gpu_that_it_was_not_given(self, model, as_in_a_worker):
        worker(model)
        assert os.environ["JAX_PLATFORMS"] == "cpu"

    @pytest.mark.parametrize(("num_gpus", "claims"), [(1, None), (0.25, "false")])
    def test_that_shares_a_gpu_does_not_claim_its_memory(
        self, model, as_in_a_worker, monkeypatch, num_gpus, claims
    ):
        monkeypatch.setattr(ray_data, "_require_accelerator", lambda: None)
        worker(model, num_cpus=None, num_gpus=num_gpus)
        assert os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE") == claims
        assert "JAX_PLATFORMS" not in os.environ

    def test_that_was_promised_a_gpu_and_finds_none_says_so(self, model, as_in_a_worker):
        import jax

        if jax.default_backend() != "cpu":
            pytest.skip("there is an accelerator")
        with pytest.raises(InputError, match="num_gpus asks for a GPU, and JAX finds none"):
            worker(model, num_gpus=1)


def test_importing_the_package_imports_neither_ray_nor_jax():
    code = "import sys, lrrf_jax.distributed as d; print({'ray', 'jax'} & set(sys.modules), dir(d))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("set()")


def test_without_ray_it_is_said_how_to_install_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[ray\]'"):
        predict_dataset(model, None)


# ------------------------------------------------------------------------ with Ray, marked slow


@pytest.fixture(scope="module")
def ray():
    """A local Ray; its own warnings are not ours."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.argsort(np.argsort(X @ rng.normal(size=(2, 3)), axis=1), axis=1) + 1
    ranker = RandomForestLabelRanker(n_estimators=3, max_depth=3, random_state=0)
    ranker.fit(X, y, feature_names=NAMES, labels=LABELS)
    path = tmp_path_factory.mktemp("model") / "forest.lrrf"
    ranker.save(path)
    return ranker, path


def written(folder):
    found = pyarrow.dataset.dataset(folder, format="parquet").to_table()
    return found.take(pa.compute.sort_indices(found["id"]))


def assert_ranked_once_each(result, ranker, X):
    assert result["id"].to_pylist() == list(range(len(X)))
    ranks = np.stack([result[label].to_numpy() for label in LABELS], axis=1)
    assert len(np.unique(ranks, axis=0)) > 1
    np.testing.assert_array_equal(ranks, ranker.predict(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
class TestOnRay:
    def test_a_worker_killed_over_a_batch_loses_and_repeats_no_row(
        self, ray, forest, tmp_path, monkeypatch
    ):
        ranker, path = forest
        X, rows = table(3000)
        log = tmp_path / "log"
        log.mkdir()

        # Local, so that Ray sends it to the workers by value.
        class SlowWorker(RankingWorker):
            """Leaves a file while it holds a batch: the first id of it, and who holds it."""

            def __call__(self, batch):
                mark = f"{batch['id'][0]}-{os.getpid()}"
                pathlib.Path(log, f"{mark}.held").touch()
                time.sleep(0.4)
                ranks = super().__call__(batch)
                pathlib.Path(log, f"{mark}.held").rename(pathlib.Path(log, f"{mark}.done"))
                return ranks

        monkeypatch.setattr(ray_data, "RankingWorker", SlowWorker)
        killed = []

        def kill_one():
            while not killed:
                held = [mark.stem.split("-") for mark in log.glob("*.held")]
                done = [mark.stem.split("-")[1] for mark in log.glob("*.done")]
                # Not the first batch of a worker, and while both of them work.
                if len(held) == 2 and len(set(done)) == 2:
                    killed.extend(held[0])
                    os.kill(int(held[0][1]), signal.SIGKILL)
                time.sleep(0.01)

        killer = threading.Thread(target=kill_one, daemon=True)
        killer.start()
        dataset = ray.data.from_arrow([rows.slice(start, 100) for start in range(0, 3000, 100)])
        ranks = predict_dataset(path, dataset, keep="id", batch_rows=100, concurrency=2)
        ranks.write_parquet(str(tmp_path / "out"))
        first_id, pid = killed  # it happened, in the middle of a batch
        repeated = [mark.stem.split("-")[1] for mark in log.glob(f"{first_id}-*.done")]
        assert repeated
        assert pid not in repeated
        assert (log / f"{first_id}-{pid}.held").exists()
        assert_ranked_once_each(written(tmp_path / "out"), ranker, X)

    def test_a_ranker_goes_to_the_workers_as_a_model_file(self, ray, forest):
        ranker, _ = forest
        X, rows = table(40)
        ranks = predict_dataset(ranker, ray.data.from_arrow(rows), keep="id", batch_rows=64)
        result = pa.Table.from_pylist(ranks.take_all()).sort_by("id")
        assert_ranked_once_each(result, ranker, X)

    def test_columns_that_do_not_fit_are_told_at_the_call(self, ray, model):
        dataset = ray.data.from_arrow(table(4)[1].drop_columns("height"))
        with pytest.raises(InputError, match="1 of the 2 feature columns .* 'height'"):
            predict_dataset(model, dataset)

    def test_a_damaged_model_is_told_at_the_call(self, ray, tmp_path):
        path = tmp_path / "no.lrrf"
        path.write_bytes(b"no model")
        with pytest.raises(ModelFileError, match=r"no\.lrrf"):
            predict_dataset(path, ray.data.from_arrow(table(4)[1]))

    @pytest.mark.parametrize(
        ("options", "name"),
        [({"batch_rows": 0}, "batch_rows"), ({"concurrency": 0}, "concurrency"),
         ({"concurrency": (2, 1)}, r"concurrency\[1\]")],
    )  # fmt: skip
    def test_parameters_out_of_range_are_told_at_the_call(self, ray, model, options, name):
        with pytest.raises(InputError, match=f"{name} must be a whole number"):
            predict_dataset(model, ray.data.from_arrow(table(4)[1]), **options)

    def test_a_value_that_cannot_be_used_arrives_as_an_input_error(self, ray, model):
        X, rows = table(4)
        bad = rows.set_column(0, "height", pa.array([0.0, 1.0, np.inf, 2.0]))
        ranks = predict_dataset(model, ray.data.from_arrow(bad), batch_rows=8)
        with pytest.raises(InputError, match=r"'height' must hold finite .* row 3 holds inf"):
            ranks.materialize()

    def test_workers_that_leave_no_core_for_reading_are_warned_of(self, ray, model, caplog):
        dataset = ray.data.from_arrow(table(4)[1])
        predict_dataset(model, dataset, concurrency=3)
        assert not caplog.records
        predict_dataset(model, dataset, concurrency=2, num_cpus=2)
        assert "2 workers take 4 of the 4 cores" in caplog.text


@pytest.mark.slow
class TestScript:
    """`scripts/predict_ray.py`, run as users do."""

    @pytest.fixture
    def run(self, tmp_path):
        pytest.importorskip("ray")
        script = pathlib.Path(__file__).parents[2] / "scripts" / "predict_ray.py"
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

        def run(*arguments, first="pass", last="pass"):
            code = (
                f"import runpy, sys; {first}; sys.argv[0] = {str(script)!r}\n"
                f"try: runpy.run_path(sys.argv[0], run_name='__main__')\nfinally: {last}"
            )
            return subprocess.run(
                [sys.executable, "-c", code, *map(str, arguments)],
                env=variables, cwd=tmp_path, capture_output=True, text=True, check=False,
            )  # fmt: skip

        return run

    def test_ranks_a_directory_and_starts_no_backend_in_its_own_process(
        self, run, forest, tmp_path
    ):
        ranker, path = forest
        X, rows = table(1000)
        (tmp_path / "in").mkdir()
        pq.write_table(rows.slice(0, 600), tmp_path / "in" / "a.parquet", row_group_size=100)
        pq.write_table(rows.slice(600), tmp_path / "in" / "b.parquet")
        done = run(
            path, "in", "--output", "out", "--keep", "id", "--batch-rows", 256, "--workers", 2,
            last="import jax._src.xla_bridge as x; print('backends', x.backends_are_initialized())",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert '"rows": 1000' in done.stdout
        assert "backends False" in done.stdout
        assert_ranked_once_each(written(tmp_path / "out"), ranker, X)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]

    def test_says_what_is_wrong_in_one_line_and_by_its_exit_code(self, run, forest, tmp_path):
        _, path = forest
        X, rows = table(8)
        bad = rows.set_column(0, "height", pa.array([0.0, np.inf] * 4))
        pq.write_table(bad, tmp_path / "bad.parquet")
        (tmp_path / "no.lrrf").write_bytes(b"no model")
        for arguments, code, message in [
            ((path, "absent", "--output", "out"), 3, "error: absent: there is no Parquet file"),
            ((path, "no.lrrf", "--output", "out"), 3, "cannot be read as Parquet"),
            ((path, "bad.parquet", "--output", "bad.parquet"), 3, "is there already"),
            (("no.lrrf", "bad.parquet", "--output", "out"), 4, "no.lrrf: is no model file"),
            ((path, "bad.parquet", "--output", "out"), 3, "(4 of 8 rows fail)"),
            ((path, "bad.parquet"), 2, "required: --output"),
        ]:
            done = run(*arguments)
            assert done.returncode == code, done.stderr
            assert message in done.stderr
            assert not (tmp_path / "out").exists()
