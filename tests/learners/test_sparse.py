"""Sparse features, as scikit-learn's encoders make them, are the dense ones."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from lrrf_jax import LEARNERS, ConsensusLabelRanker, InputError
from lrrf_jax.evaluation import cross_validate
from tests.learners.test_contract import make

RNG = np.random.default_rng(3)
X = np.where(RNG.random((60, 3)) < 0.6, 0, RNG.integers(-4, 5, (60, 3))).astype(float)
Y = np.argsort(np.argsort(-X + 0.1 * RNG.random(X.shape), 1), 1) + 1.0
FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_model_and_the_predictions_of_the_dense_table(container, form):
    table = container(X).asformat(form)
    ranker = LEARNERS["ib-m"](n_neighbors=5)
    dense = ranker.fit(X, Y).predict_scores(X)
    np.testing.assert_array_equal(ranker.fit(table, Y).predict_scores(table), dense)
    assert ranker.score(table, Y) == ranker.score(X, Y)


def test_what_is_not_stored_is_zero_and_what_is_stored_may_be_missing():
    holes = X.copy()
    holes[holes == 1] = np.nan
    assert (np.isnan(holes).any(1) & (holes == 0).any(1)).any()
    ranker = make("lrt").fit(holes, Y)
    same = make("lrt").fit(sparse.csr_array(holes), Y)
    np.testing.assert_array_equal(same.predict_scores(holes), ranker.predict_scores(holes))
    with pytest.raises(InputError, match="no missing values for 'rpc'; row"):
        LEARNERS["rpc"]().fit(sparse.csr_array(holes), Y)


def test_a_pipeline_from_one_hot_encoder_needs_no_dense_output():
    colours = RNG.choice(["blue", "green", "red"], (60, 2))
    y = np.where(colours[:, :1] == "red", [[3, 2, 1]], [[1, 2, 3]])
    assert sparse.issparse(OneHotEncoder().fit_transform(colours))
    by_hand = {
        output: cross_val_score(
            make_pipeline(OneHotEncoder(sparse_output=output), make("lrt")), colours, y, cv=3
        )
        for output in (True, False)
    }
    np.testing.assert_array_equal(by_hand[True], by_hand[False])
    assert by_hand[True].mean() == 1


def test_cross_validation_takes_sparse_tables():
    arguments = {"folds": 3, "repeats": 1, "seed": 1}
    ranker = LEARNERS["ib-m"](n_neighbors=5)
    dense = cross_validate(ranker, X, Y, **arguments)
    found = cross_validate(ranker, sparse.coo_matrix(X), Y, **arguments)
    np.testing.assert_array_equal(found.scores, dense.scores)


def test_features_beyond_float32_and_the_wrong_columns_are_told_of_sparse_tables_too():
    ranker = ConsensusLabelRanker().fit(sparse.csr_array(X), Y)
    with pytest.raises(InputError, match="must hold finite float32 numbers.* row 1, column 0"):
        ranker.predict(sparse.csr_array([[0, 1, 2], [1e300, 0, 0]]))
    with pytest.raises(InputError, match="X has 2 features"):
        ranker.predict(sparse.csr_array(X[:, :2]))
    with pytest.raises(InputError, match="X must have two dimensions"):
        ranker.predict(sparse.coo_array(X[0]))
    with pytest.raises(InputError, match="Complex data not supported"):
        ranker.predict(sparse.csr_array(X * 1j))
    with pytest.raises(InputError, match="y must be an array.*sparse matrix"):
        ranker.fit(X, sparse.csr_array(Y))


def test_a_table_that_no_memory_holds_when_it_is_dense_is_told_with_its_size():
    wide = sparse.coo_array((2**30, 2**20))
    with pytest.raises(InputError, match=r"1073741824 x 1048576 cells take 4194304\.0 GiB"):
        ConsensusLabelRanker().fit(wide, Y)
