"""Delimiters, decimal commas and encodings: found without doubt, or named, or refused."""

import gzip
import itertools

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import InputError
from lrrf_jax.datasets import read
from lrrf_jax.io.tables import open_batches

NAMES = ["größe", "b"]


def frame(n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, 2)).round(3), columns=NAMES)
    table.iloc[3, 1] = np.nan
    table["L1"] = rng.integers(1, 3, n_rows)
    table["L2"] = 3 - table["L1"]
    return table


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def features_of(path, **dialect):
    """What streaming prediction reads."""
    return np.concatenate([X for X, _ in open_batches(path, NAMES, batch_rows=7, **dialect)])


class TestTables:
    @pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
    @pytest.mark.parametrize(
        ("delimiter", "decimal", "encoding"),
        list(itertools.product(",;\t|", ".,", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])),
    )
    def test_are_read_as_pandas_reads_them(self, tmp_path, suffix, delimiter, decimal, encoding):
        path = tmp_path / f"t.{suffix}"
        frame().to_csv(path, index=False, sep=delimiter, decimal=decimal, encoding=encoding)
        expected = pd.read_csv(path, sep=delimiter, decimal=decimal, encoding=encoding)
        assert expected.equals(frame())
        told = {"decimal": decimal} if decimal == "," else {}
        if encoding == "cp1252":  # nothing tells it
            told["encoding"] = encoding
        data = read(path, **told)
        assert data.feature_names == tuple(NAMES)
        np.testing.assert_array_equal(data.X, np.float32(expected[NAMES]))
        np.testing.assert_array_equal(data.y, np.float32(expected[["L1", "L2"]]))
        np.testing.assert_array_equal(features_of(path, **told), data.X)

    def test_may_have_any_sign_between_cells_that_is_named(self, tmp_path):
        path = tmp_path / "t.tsv"
        for delimiter, said in (("^", "^"), (";", ";"), (" ", " "), ("\t", "\\t"), ("\t", "tab")):
            frame().to_csv(path, index=False, sep=delimiter)
            np.testing.assert_array_equal(read(path, delimiter=said).X, np.float32(frame()[NAMES]))
            got = features_of(path, delimiter=said)
            np.testing.assert_array_equal(got, np.float32(frame()[NAMES]))

    def test_have_the_delimiter_that_fits_every_row_and_not_one_that_texts_hold(self, tmp_path):
        text = "A1;note, long;L1;L2\n1;a, b;1;2\n2;c;2;1\n"
        data = read(written(tmp_path / "t.csv", text))
        assert data.feature_names == ("A1", "note, long")
        text = "A1,note;L1|,L2,L1\n1,2,1,2\n"
        assert read(written(tmp_path / "t.csv", text)).feature_names == ("A1", "note;L1|")
        text = 'A1,B,L1,L2\n"1;2|3",4,1,2\n"0;9|1",4,1,2\n'
        assert read(written(tmp_path / "t.csv", text), exclude="A1").X.tolist() == [[4], [4]]

    def test_with_a_single_column_have_no_delimiter(self, tmp_path):
        path = written(tmp_path / "t.csv", "b;c\n1\n2\n")
        batches = list(open_batches(path, ["b;c"]))
        assert batches[0][0].tolist() == [[1], [2]]

    def test_with_decimal_commas_may_hold_ties_and_orderings_of_floats(self, tmp_path):
        path = written(tmp_path / "t.csv", "A;L1;L2;L3\n1,5;1,5;1,5;3,0\n2;1;2;3\n")
        assert read(path, decimal=",").y.tolist() == [[1.5, 1.5, 3], [1, 2, 3]]
        path = written(tmp_path / "t.csv", "A;L1;L2\n1,5;2,0;1,0\n2;1,0;\n")
        data = read(path, decimal=",", convention="orderings")
        np.testing.assert_array_equal(data.y, [[2, 1], [1, np.nan]])
        assert data.labels == ("L1", "L2")

    def test_that_turn_to_text_late_keep_their_decimal_commas(self, tmp_path, monkeypatch):
        from lrrf_jax.io import _sources

        values = np.arange(1000) / 8
        cells = [str(value).replace(".", ",") for value in values]
        cells[900] = " ? "  # which the parser does not know as missing
        text = "b;c\n" + "".join(f"{cell};0\n" for cell in cells)
        path = written(tmp_path / "t.csv", text)
        make = _sources.pa.csv.ReadOptions
        monkeypatch.setattr(
            _sources.pa.csv, "ReadOptions", lambda **given: make(**{**given, "block_size": 512})
        )
        batches = open_batches(path, ["b"], batch_rows=64, decimal=",")
        values[900] = np.nan
        np.testing.assert_array_equal(np.concatenate([X for X, _ in batches])[:, 0], values)


DOUBTS = {
    "two delimiters": (
        "A,1;L1,2;L2,3\n1,5;1,0;2,0\n2,5;2,0;1,0\n",
        {},
        "parted by ',' or by ';': header and rows fit both. Say which with delimiter= "
        "(--delimiter ';')",
    ),
    "decimal commas": (
        "A;L1;L2\n7;1;2\n1,5;2;1\n",
        {},
        "column 'A' must hold numbers; row 2 (line 3) holds '1,5' (with a decimal comma? Say "
        "decimal=',', --decimal ,)",
    ),
    "decimal commas all over": (
        "A;L1;L2\n1,5;1;2\n2,25;2;1\n",
        {},
        "row 1 (line 2) holds '1,5' (with a decimal comma?",
    ),
    "a comma that may part thousands": (
        "A;L1;L2\n1,234;1;2\n",
        {},
        "'1,234' (with a decimal comma? Say decimal=',', --decimal ,; or write 1234 if the comma "
        "parts thousands)",
    ),
    "decimal points": (
        "A;L1;L2\n1,5;1;2\n2.25;2;1\n",
        {"decimal": ","},
        "row 2 (line 3) holds '2.25' (with a decimal point? Say decimal='.'",
    ),
    "thousands with points": (
        "A;L1;L2\n1.234,5;1;2\n",
        {"decimal": ","},
        "'1.234,5' (with a sign between thousands? Such are not read: write 1234,5)",
    ),
    "thousands with blanks": (
        "A;L1;L2\n1 234;1;2\n",
        {},
        "'1 234' (with a sign between thousands? Such are not read: write 1234)",
    ),
    "thousands with commas": (
        'A,L1,L2\n"1,234.5",1,2\n',
        {},
        "'1,234.5' (with a sign between thousands? Such are not read: write 1234.5)",
    ),
    "Latin 1": (
        "größe,L1,L2\n1,1,2\n".encode("latin1"),
        {},
        "line 1 is not UTF-8 text. Name its encoding, such as encoding='latin1' (--encoding",
    ),
    "another encoding": (
        b"A,L1,L2\n1,1,2\n\x81,2,1\n",
        {"encoding": "cp1252"},
        "line 3 is not cp1252 text (column 'A'). Name the encoding",
    ),
    "half a letter": (
        "A,L1,L2\n1,1,2\n".encode("utf-16") + b"\x31",
        {},
        "line 3 is not utf-16 text",
    ),
    "a mark": (
        "A,L1,L2\n1,1,2\n".encode("utf-16"),
        {"encoding": "latin1"},
        "encoding='latin1' (--encoding) is said, and the file begins with the mark of UTF-16",
    ),
    "UTF-16 without a mark": (
        "A,L1,L2\n1,1,2\n".encode("utf-16-le"),
        {},
        "Say encoding='utf-16-le' or 'utf-16-be'",
    ),
    "a line for a spreadsheet": (
        "sep=;\nA;L1;L2\n1;1;2\n",
        {},
        "the first line, 'sep=;', is no header. Remove it, and say delimiter=",
    ),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_what_is_in_doubt_is_refused_with_the_way_out(tmp_path, case):
    content, told, message = DOUBTS[case]
    path = written(tmp_path / "t.csv", content)
    with pytest.raises(InputError) as caught:
        read(path, **told)
    assert message in str(caught.value), str(caught.value)
    assert str(path) in str(caught.value)


def test_the_way_out_is_one(tmp_path):
    content, _, _ = DOUBTS["two delimiters"]
    path = written(tmp_path / "t.csv", content)
    assert read(path, delimiter=";", decimal=",", labels="L*").X.tolist() == [[1.5], [2.5]]
    content, _, _ = DOUBTS["UTF-16 without a mark"]
    path = written(tmp_path / "t.csv", content)
    assert read(path, encoding="utf-16-le").X.tolist() == [[1]]
    path = written(tmp_path / "t.csv", "A;L1;L2\n1;1;2\n1;2\n")
    with pytest.raises(InputError, match=r"row 2 \(line 3\) has 2 cells, the header has 3"):
        read(path, delimiter=";")


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"delimiter": ";;"}, "delimiter must be a single sign"),
        ({"delimiter": "a"}, "delimiter must be a single sign"),
        ({"delimiter": '"'}, "delimiter must be a single sign"),
        ({"delimiter": 7}, "delimiter must be a single sign .* it is 7"),
        ({"decimal": ";"}, "decimal must be '.' or ','; it is ';'"),
        ({"encoding": "latin 17"}, "encoding must be one that Python knows.* it is 'latin 17'"),
        ({"encoding": "rot13"}, "encoding must be one that Python knows"),
        ({"encoding": "punycode"}, "encoding must be one that Python knows"),
        ({"encoding": 8}, "encoding must be one that Python knows"),
    ],
)
def test_a_dialect_that_is_none_is_refused(tmp_path, told, message):
    path = written(tmp_path / "t.csv", "A,L1,L2\n1,1,2\n")
    with pytest.raises(InputError, match=message):
        read(path, **told)
    with pytest.raises(InputError, match=message):
        open_batches(path, ["A"], **told)


def test_typed_tables_have_no_delimiter_and_no_encoding(tmp_path):
    path = tmp_path / "t.parquet"
    frame().to_parquet(path)
    for told in ({"delimiter": ";"}, {"encoding": "latin1"}):
        with pytest.raises(InputError, match=f"{next(iter(told))}= has no meaning for .parquet"):
            read(path, **told)
    frame().astype({"b": str}).replace("nan", None).assign(
        b=lambda table: table["b"].str.replace(".", ",")
    ).to_parquet(path)
    np.testing.assert_array_equal(read(path, decimal=",").X, np.float32(frame()[NAMES]))


def test_weka_and_preflib_files_may_have_an_encoding(tmp_path):
    text = "@attribute größe REAL\n@attribute L RANKING {ä,b}\n@data\n1,ä>b\n"
    for encoding, told in (("latin1", "latin1"), ("utf-16", None)):
        path = written(tmp_path / "t.xarff.gz", gzip.compress(text.encode(encoding)))
        assert read(path, encoding=told).labels == ("ä", "b")
        vote = "# ALTERNATIVE NAME 1: ä\n# ALTERNATIVE NAME 2: b\n3: 1,2\n"
        path = written(tmp_path / "t.soc", vote.encode(encoding))
        assert read(path, encoding=told).labels == ("ä", "b")
    with pytest.raises(InputError, match="decimal= has no meaning for .soc"):
        read(path, decimal=",")
