"""Data sets of CSV files: records, columns, missing fields, inference. Compared with TensorFlow in tests/oracle."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
TEXT = b'x,name,y\r\n1,"a, ""b""",2.5\r\n,"two\nlines",\r\n3,c,NA\r\n'


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(TEXT)
    return str(file)


def elements(dataset, limit=100):
    found = []
    item = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        while len(found) < limit:
            try:
                found.append(session.run(item))
            except errors.OutOfRangeError:
                break
    return found


def test_records_columns_and_missing_fields(path, tmp_path):
    defaults = [tf.constant([7]), tf.string, [0.5]]
    data = tf.data.experimental.CsvDataset(path, defaults, header=True, na_value="NA")
    assert data.output_types == (tf.int32, tf.string, tf.float32)
    assert elements(data) == [(1, b'a, "b"', 2.5), (7, b"two\nlines", 0.5), (3, b"c", 0.5)]
    some = tf.data.experimental.CsvDataset([path, path], [tf.string], header=True, select_cols=[1])
    assert elements(some.skip(1).take(3)) == [(b"two\nlines",), (b"c",), (b'a, "b"',)]
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(TEXT))
    assert elements(
        tf.data.experimental.CsvDataset(str(packed), defaults, "GZIP", header=True, na_value="NA")
    ) == elements(data)


def test_bad_records_name_file_and_place_and_can_be_left_out(tmp_path):
    file = tmp_path / "bad.csv"
    file.write_bytes(b'1,2\n3\n4,x\n"5"6,7\n8,9\n,1\n10,11')
    data = tf.data.experimental.CsvDataset(str(file), [tf.int32, tf.int64])
    item = data.make_one_shot_iterator().get_next()
    said = []
    with tf.Session() as session:
        for _ in range(7):
            try:
                said.append(tuple(int(v) for v in session.run(item)))
            except errors.InvalidArgumentError as e:
                said.append(str(e))
    assert said[0] == (1, 2) and said[4] == (8, 9) and said[6] == (10, 11)
    for place, text in (
        (1, "Expect 2 fields but have 1"),
        (2, "field 1"),
        (3, "followed by"),
        (5, "field 0 is required"),
    ):
        assert f"bad.csv, record {place + 1}" in said[place] and text in said[place]
    kept = data.ignore_errors()
    assert elements(kept) == [(1, 2), (8, 9), (10, 11)]
    assert kept.skipped == 4
    file.write_bytes(b'1,2\n"3')
    with pytest.raises(errors.InvalidArgumentError, match="Quoted field has to end"):
        elements(data)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"select_cols": [1, 0]}, "ascending"),
        ({"select_cols": [0]}, "1 columns are selected, 2"),
        ({"field_delim": "ab"}, "one byte"),
    ],
    ids=["order", "count", "delimiter"],
)
def test_arguments_that_do_not_fit(path, arguments, match):
    with pytest.raises(errors.InvalidArgumentError, match=match):
        elements(tf.data.experimental.CsvDataset(path, [tf.string, tf.string], **arguments))


def test_a_column_of_another_type(path):
    with pytest.raises(errors.InvalidArgumentError, match="cannot be uint8"):
        tf.data.experimental.CsvDataset(path, [tf.uint8])


def test_make_csv_dataset_finds_names_and_types(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c,d\n1,3000000000,0.5,x\n2,1,,y\n")
    (tmp_path / "2.csv").write_text("a,b,c,d\n5,6,1e300,7\n")
    make = tf.data.experimental.make_csv_dataset
    data = make(str(tmp_path / "*.csv"), 2, label_name="d", num_epochs=1, shuffle=False)
    types, label = data.output_types
    assert (types, label) == ({"a": tf.int32, "b": tf.int64, "c": tf.float64}, tf.string)
    (first, ys), (second, _) = elements(data)
    assert list(first) == ["a", "b", "c"]
    assert first["b"].tolist() == [3000000000, 1] and first["c"].tolist() == [0.5, 0.0]
    assert ys.tolist() == [b"x", b"y"] and second["c"].tolist() == [1e300]
    chosen = make(
        [str(tmp_path / "1.csv")], 3, select_columns=["c", 0], column_defaults=[9, tf.float32], shuffle_seed=2
    )
    with pytest.raises(errors.InvalidArgumentError, match="required but missing"):
        elements(chosen, 2)
    ever = make(str(tmp_path / "?.csv"), 3, select_columns=["a"], shuffle_seed=2)
    got = elements(ever, 5)
    assert all(len(e["a"]) == 3 for e in got) and np.concatenate([e["a"] for e in got]).tolist().count(5) == 5


def test_what_make_csv_dataset_refuses(tmp_path):
    make = tf.data.experimental.make_csv_dataset
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    one, both = str(tmp_path / "1.csv"), str(tmp_path / "*.csv")
    with pytest.raises(errors.NotFoundError):
        make(str(tmp_path / "none*"), 2)
    for arguments, match in (
        ({"label_name": "z"}, "must be one of"),
        ({"column_names": ["a", "a"]}, "one name"),
        ({"select_columns": [2]}, "no column"),
        ({"select_columns": ["a", 0]}, "twice"),
        ({"column_defaults": [tf.int32]}, "1 defaults for 2"),
        ({"header": False}, "column_names"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=match):
            make(one, 2, **arguments)
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(errors.InvalidArgumentError, match="has the columns"):
        make(both, 2)
    (tmp_path / "2.csv").write_text("a,b\n1\n")
    with pytest.raises(errors.InvalidArgumentError, match="needed 2"):
        make(both, 2)
    (tmp_path / "2.csv").write_text("a,b\n1\n4,5\n")
    data = make(both, 2, column_defaults=[0, 0], num_epochs=1, shuffle=False, ignore_errors=True)
    assert [e["b"].tolist() for e in elements(data)] == [[2, 5]]
