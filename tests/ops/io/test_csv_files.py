"""Records of files of comma-separated values: where they end, and what it costs to find that."""

from __future__ import annotations

import gzip
import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnb.ops.io import csv_files
from tfnb.ops.io.csv_files import CsvFile

PIECES = st.lists(st.sampled_from([b'"', b"\n", b"\r\n", b"a", b",", b"bb", b'""']), max_size=30).map(b"".join)


def _records(text: bytes, quotes: bool) -> list[bytes]:
    """The definition: a record ends at each line end that has an even number of quotes before it in the record."""
    records, begun = [], b""
    *lines, last = text.split(b"\n")
    for line in lines:
        begun += line
        if quotes and begun.count(b'"') % 2:
            begun += b"\n"
        else:
            records.append(begun)
            begun = b""
    begun += last
    return [r.removesuffix(b"\r") for r in [*records, *([begun] if begun else [])]]


@given(PIECES, st.booleans(), st.sampled_from([1, 2, 3, 7, 1 << 20]), st.integers(1, 5))
def test_records_end_where_no_quote_is_open(tmp_path_factory, text, quotes, chunk, n):
    path = tmp_path_factory.getbasetemp() / "records.csv"
    path.write_bytes(text)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_CHUNK", chunk)
        file = CsvFile(str(path), "", quotes)
        while some := file.take(n):
            found += some
        file.close()
    assert found == _records(text, quotes)
    assert file.position == len(found)


def test_millions_of_lines_in_one_field_are_not_looked_at_one_by_one(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b'"' + b"1\n" * (4 << 20), 1))
    file, calls = CsvFile(str(path), "GZIP"), itertools.count()
    sys.setprofile(lambda *_: next(calls))
    try:
        (record,) = file.take(2)
    finally:
        sys.setprofile(None)
    file.close()
    assert len(record) == 1 + 2 * (4 << 20)
    assert next(calls) < 100_000  # of functions; there are four million lines
