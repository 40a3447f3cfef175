"""XARFF and PrefLib."""

import gzip

import numpy as np
import pytest

from lrrf_jax import LEARNERS
from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read

NAN = np.nan
XARFF = """% a comment
@RELATION toy

@attribute A1 numeric
@Attribute 'long name' REAL
@attribute L ranking {L1, L2,L3,L4}
@Data
0.5, -1.0, L2>L4>L1
% between rows
-1.3E-7, ?, L1 > L3

0.2, 0.9, ?
1,2,L2>L4|L2>L1|L4>L1
3,4,'L4>L3>L2>L1'"""


def written(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_xarff_rows_keep_missing_labels_and_values(tmp_path, newline):
    data = read(written(tmp_path, XARFF.replace("\n", newline), "toy.xarff"))
    assert data.feature_names == ("A1", "long name")
    assert data.labels == ("L1", "L2", "L3", "L4")
    assert data.name == "toy"
    np.testing.assert_array_equal(
        data.X, np.float32([[0.5, -1], [-1.3e-7, NAN], [0.2, 0.9], [1, 2], [3, 4]])
    )
    expected = [[3, 1, NAN, 2], [1, NAN, 2, NAN], [NAN] * 4, [3, 1, NAN, 2], [4, 3, 2, 1]]
    np.testing.assert_array_equal(data.y, np.float32(expected))


HEADER = "@attribute A1 NUMERIC\n@attribute L RANKING {a,b,c}\n"
XARFF_REFUSED = {
    "no data": (HEADER, "no line @data"),
    "no rows": (HEADER + "@data\n\n", "no rows"),
    "no attributes": ("@data\n1,a>b\n", "no @attribute line"),
    "kind of text": (
        "@attribute c STRING\n" + HEADER + "@data\nx,1,a>b\n",
        "'c' (line 1) must be NUM",
    ),
    "no value of a nominal": (
        "@attribute c {x,y}\n" + HEADER + "@data\nx,1,a>b\nz,2,a>b\n",
        "column 'c' must hold one of x, y; row 2 (line 6) holds 'z' (1 of 2 rows fail)",
    ),
    "open nominal": ("@attribute c {0,'1}\n" + HEADER + "@data\n0,1,a>b\n", "'c' (line 1) must be"),
    "no ranking": ("@attribute A1 NUMERIC\n@data\n1\n", "'A1' (line 1), must be a ranking"),
    "one label": ("@attribute A1 REAL\n@attribute L RANKING {a}\n@data\n1,a\n", "two different"),
    "no feature": ("@attribute L RANKING {a,b}\n@data\na>b\n", "no feature"),
    "twice": ("@attribute A1 REAL\n" + HEADER + "@data\n1,1,a>b\n", "'A1' is there 2 times"),
    "half an attribute": ("@attribute A1\n@data\n1\n", "line 1 lacks a name or a type"),
    "unknown label": (HEADER + "@data\n1,a>b\n\n2,a>z\n", "row 2 (line 6) holds 'a>z'"),
    "repeated label": (HEADER + "@data\n1,a>b>a\n", "row 1 (line 4) holds 'a>b>a'"),
    "open order": (HEADER + "@data\n1,a>b|a>c\n", "row 1 (line 4) holds 'a>b|a>c'"),
    "cycle": (HEADER + "@data\n1,a>b|b>a\n", "'a>b|b>a'"),
    "chain without >": (HEADER + "@data\n1,a>b|c\n", "'a>b|c'"),
    "text": (HEADER + "@data\n1,a>b\nx,a>b\n", "column 'A1' must hold numbers; row 2 (line 5)"),
    "ragged": (HEADER + "@data\n1,a>b\n1,2,a>b\n", "row 2 (line 5) has 3 cells"),
    "sparse, far": (HEADER + "@data\n{0 1, 2 a>b}\n", "row 1 (line 4) has '2 a>b' where"),
    "sparse, no ranking": (HEADER + "@data\n{0 1, 1 a>b}\n{0 1}\n", "row 2 (line 5) holds '0'"),
    "sparse, open": (HEADER + "@data\n{0 1, 1 a>b\n", "a brace that is not closed"),
    "open quote": (HEADER + "@data\n1,'a>b\n", 'a quote or brace that is not closed at "\'a>b"'),
    "negative weight": (HEADER + "@data\n1,a>b,{-2}\n", "row 1 (line 4) has the weight {-2}"),
    "no weight": (HEADER + "@data\n1,a>b,{x}\n", "the weight {x}, which is no finite number"),
    "text attribute": ("@attribute s string\n" + HEADER + "@data\nx,1,a>b\n", "exclude='s'"),
    "all missing": (HEADER + "@data\n1,?\n", "no cell holds a '>'"),
    "not UTF-8": (HEADER.encode() + b"@data\n1,\xff>b\n", "line 4 is not UTF-8"),
}


@pytest.mark.parametrize("case", XARFF_REFUSED)
def test_an_xarff_file_is_refused_with_its_place(tmp_path, case):
    content, fragment = XARFF_REFUSED[case]
    path = written(tmp_path, content, "t.xarff")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert fragment in str(caught.value), str(caught.value)


WEKA = r"""% weights, quotes, ranges, comments, sparse rows, a comma too many
@relation "a toy"
@ATTRIBUTE A1 REAL [0, 10] % a range, and a comment
@attribute "second \"name\"" integer[1,3]
@attribute code {0,1,2}
@attribute town {'New York',Paris}
@attribute day DATE "yyyy-MM-dd"
@attribute L RANKING {'New York', "b,c", '100%'}
@DATA % here it begins
0.5,2,1,'New York',2020-01-01,'New York>b,c',{0.5}
1.5, ?, 2, Paris, ?, "b,c > New York" , {2} % a comment
{0 2.5, 2 1, 5 'New York'>"b,c"}
{0 3.5, 5 'b,c>New York'}, {3}
4.5,1,0,Paris,2020-01-01,'100% > New York',
"""


@pytest.mark.parametrize("name", ["t.xarff", "t.ARFF", "t.xarff.gz"])
def test_xarff_is_read_as_weka_writes_it(tmp_path, name):
    text = WEKA.replace("'New York'>\"b,c\"", "'New York>b,c'").encode()
    path = written(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)
    data = read(path, exclude="town,day")
    assert data.feature_names == ("A1", 'second "name"', "code")
    assert data.ignored == ("town", "day")
    assert data.labels == ("New York", "b,c", "100%")
    X = [[0.5, 2, 1], [1.5, NAN, 2], [2.5, 0, 1], [3.5, 0, 0], [4.5, 1, 0]]
    np.testing.assert_array_equal(data.X, np.float32(X))
    y = [[1, 2, NAN], [2, 1, NAN], [1, 2, NAN], [2, 1, NAN], [2, NAN, 1]]
    np.testing.assert_array_equal(data.y, np.float32(y))
    np.testing.assert_array_equal(data.sample_weight, [0.5, 2, 1, 3, 1])
    with pytest.raises(InputError, match=r"attribute 'day' \(line 7\) must be NUMERIC"):
        read(path)
    # What a sparse row leaves out is the first of the declared values.
    town = read(path, exclude="day").X["town"]
    assert town.to_pylist() == ["New York", "Paris", "New York", "New York", "Paris"]
    days = read(path, exclude="town", categories="day").X["day"].to_pylist()
    assert days == ["2020-01-01", None, "0", "0", "2020-01-01"]


def test_labels_of_xarff_may_hold_the_sign_that_joins_chains(tmp_path):
    text = "@attribute A REAL\n@attribute L RANKING {a|b,c,d}\n@data\n1,a|b>d>c\n2,c>d|d>a|b\n"
    path = written(tmp_path, text, "t.xarff")
    with pytest.raises(InputError, match="row 2"):  # which bar joins what cannot be told
        read(path)
    path.write_text(text.replace("2,c>d|d>a|b\n", "2,c>a|b\n"))
    assert read(path).y.tolist()[0] == [1, 3, 2]


def test_column_arguments_are_refused_for_formats_that_name_their_own(tmp_path):
    for name in ("t.xarff", "t.soc"):
        path = written(tmp_path, "x", name)
        for argument in ({"labels": "L*"}, {"features": "A*"}, {"convention": "scores"}):
            with pytest.raises(InputError, match="has no meaning"):
                read(path, **argument)


MODERN = """# FILE NAME: 00000-00000001.soi
# TITLE: fruit: a survey
# DATA TYPE: soi
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: apple
# ALTERNATIVE NAME 2: beet
# ALTERNATIVE NAME 3: corn, sweet
# ALTERNATIVE NAME 4: apple
3: 2,4,1
2: 3, 1, 2, 4
1: 3
"""
OLD = """4
1,apple
2,beet
3,corn, sweet
4,apple
6,6,3
3,2,4,1
2,3,1,2,4
1,3
"""


@pytest.mark.parametrize("content", [MODERN, OLD], ids=["modern", "old"])
def test_preflib_orders_are_weighed_by_their_count(tmp_path, content):
    data = read(written(tmp_path, content, "fruit.soi"))
    assert data.X.shape == (3, 0)
    assert data.labels == ("apple (1)", "beet", "corn, sweet", "apple (4)")
    votes = [[3, 1, NAN, 2], [2, 3, 1, 4], [NAN, NAN, 1, NAN]]
    np.testing.assert_array_equal(data.y, np.float32(votes))
    np.testing.assert_array_equal(data.sample_weight, [3, 2, 1])


def test_a_count_of_billions_takes_no_memory_and_weighs_as_much(tmp_path):
    content = "# NUMBER ALTERNATIVES: 3\n3000000000: 3,1,2\n1: 1,2,3\n1: 1,2,3\n"
    data = read(written(tmp_path, content, "t.soc"))
    assert data.sample_weight.tolist() == [3e9, 1, 1]
    consensus = LEARNERS["default"]().fit(data.X, data.y, data.sample_weight, labels=data.labels)
    assert consensus.predict(np.empty((2, 0))).tolist() == [[2, 3, 1]] * 2
    ones = read(written(tmp_path, content.replace("3000000000", "1"), "ones.soc"))
    assert ones.sample_weight is None
    assert LEARNERS["default"]().fit(ones.X, ones.y).predict(ones.X)[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("colon", [True, False], ids=["modern", "old"])
def test_alternatives_in_braces_tie_wherever_they_stand(tmp_path, colon):
    orders = ["4: 2,{1,3}", "1: {2},1,3", "1: {1,2,3}", "2: {3, 1},2", "1: {1,2},3"]
    head = "# NUMBER ALTERNATIVES: 4\n" if colon else "4\n1,a\n2,b\n3,c\n4,d\n9,9,4\n"
    text = head + "\n".join(orders if colon else [order.replace(": ", ",") for order in orders])
    for suffix in ("toc", "toi"):
        data = read(written(tmp_path, text, f"t.{suffix}"))
        expected = [[2.5, 1, 2.5], [2, 1, 3], [2, 2, 2], [1.5, 3, 1.5], [1.5, 1.5, 3]]
        np.testing.assert_array_equal(data.y[:, :3], np.float32(expected))
        assert np.isnan(data.y[:, 3]).all()
        assert data.sample_weight.tolist() == [4, 1, 1, 2, 1]
    top = LEARNERS["default"]().fit(data.X, data.y[:, :3], data.sample_weight)
    assert top.predict(data.X)[0].tolist() == [2, 1, 3]


def test_a_row_of_xarff_may_tie_labels(tmp_path):
    rows = "1,a>b=c\n2,b ~ c>a\n3,'{a,b}>c'\n4,a=b|c>a\n"
    path = written(tmp_path, HEADER + "@data\n" + rows[:-10], "t.xarff")
    assert read(path).y.tolist() == [[1, 2.5, 2.5], [3, 1.5, 1.5], [1.5, 1.5, 3]]
    path = written(tmp_path, HEADER + "@data\n" + rows, "t.xarff")
    with pytest.raises(InputError, match=r"row 4 .* holds 'a=b\|c>a'"):
        read(path)


def test_folds_and_groups_of_xarff_are_attributes(tmp_path):
    header = "@attribute town {x,y}\n@attribute fold NUMERIC\n" + HEADER
    path = written(tmp_path, header + "@data\nx,2,1,a>b\ny,1,3,b>a>c\n", "t.xarff")
    data = read(path, fold_column="fold", group_column="town")
    assert (data.folds.tolist(), data.groups.tolist()) == ([2, 1], ["x", "y"])
    assert (data.feature_names, data.ignored) == (("A1",), ())


def test_only_the_consensus_learns_without_features_and_others_name_it(tmp_path):
    data = read(written(tmp_path, MODERN, "fruit.soi"))
    for name, learner in LEARNERS.items():
        if name != "default":
            with pytest.raises(InputError, match="'default'"):
                learner().fit(data.X, data.y, data.sample_weight)


PREFLIB_REFUSED = {
    "twice in a tie": (
        "# NUMBER ALTERNATIVES: 3\n2: {1,2},2\n",
        "line 2 holds '{1,2},2'; an order",
    ),
    "open tie": ("# NUMBER ALTERNATIVES: 3\n2: 1,{2,3\n", "each once"),
    "empty cell": ("# NUMBER ALTERNATIVES: 3\n2: 1,,2\n", "each once"),
    "endless count": (f"# NUMBER ALTERNATIVES: 3\n1{'0' * 400}: 1,2\n", "below 10**15"),
    "unknown": ("# NUMBER ALTERNATIVES: 3\n2: 1,4\n", "numbers 1..3"),
    "twice": ("# NUMBER ALTERNATIVES: 3\n2: 1,1\n", "each once"),
    "no colon": ("# NUMBER ALTERNATIVES: 3\n1,2,3\n", "line 2 holds '1,2,3'"),
    "no count": ("# NUMBER ALTERNATIVES: 3\nx: 1,2,3\n", "line 2 holds 'x'"),
    "no orders": ("# NUMBER ALTERNATIVES: 3\n", "no rows"),
    "one alternative": ("# NUMBER ALTERNATIVES: 1\n1: 1\n", "at least two"),
    "other file": ("A,B\n1,2\n", "line 1 holds 'A,B'"),
    "old, no name": ("2\napple\n2,beet\n1,1,1\n1,1,2\n", "line 2 holds 'apple'"),
    "old, no order": ("2\n1,apple\n2,beet\n1,1,1\n7\n", "line 5 holds '7'"),
}


@pytest.mark.parametrize("case", PREFLIB_REFUSED)
def test_a_preflib_file_is_refused_with_its_line(tmp_path, case):
    content, fragment = PREFLIB_REFUSED[case]
    path = written(tmp_path, content, "t.soc")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert fragment in str(caught.value), str(caught.value)
