"""XARFF and PrefLib."""

import numpy as np
import pytest

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
    "nominal": ("@attribute c {x,y}\n" + HEADER + "@data\nx,1,a>b\n", "'c' (line 1) must be NUM"),
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
    "sparse": (HEADER + "@data\n{0 1, 1 a>b}\n", "sparse form"),
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
def test_preflib_votes_are_repeated_by_their_count(tmp_path, content):
    data = read(written(tmp_path, content, "fruit.soi"))
    assert data.X.shape == (6, 0)
    assert data.labels == ("apple (1)", "beet", "corn, sweet", "apple (4)")
    votes = [[3, 1, NAN, 2]] * 3 + [[2, 3, 1, 4]] * 2 + [[NAN, NAN, 1, NAN]]
    np.testing.assert_array_equal(data.y, np.float32(votes))


PREFLIB_REFUSED = {
    "tie": ("# NUMBER ALTERNATIVES: 3\n2: 1,{2,3}\n", "line 2 holds '1,{2,3}'; ties"),
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
