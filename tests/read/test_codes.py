from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from versioned_catalog.read import row_keys as codes
from versioned_catalog.read.newest_rows import sorted_order
from versioned_catalog.read.row_keys import codes_of

BYTES = st.sampled_from([b"\0", b"\x01", b"a", b"b", b"\x7f", b"\x80", b"\xff"])
TEXT = st.lists(BYTES, max_size=4).map(b"".join)
KEYS = st.lists(
    st.tuples(TEXT, st.integers(-(2**63), 2**63 - 1), TEXT, st.integers(-100, 100)),
    min_size=1,
    max_size=40,
)


@given(KEYS, st.sampled_from([1, 1000]), st.booleans())  # 1: all values get codes; 1000: none
def test_codes_sort_and_compare_as_the_keys(
    keys: list[tuple[bytes, int, bytes, int]], few: int, doubled: bool
) -> None:
    keys = keys * 2 if doubled else keys
    types = [pa.binary(), pa.int64(), pa.binary(), pa.int32()]
    columns = [
        pa.array(values, t) for values, t in zip(zip(*keys, strict=True), types, strict=True)
    ]
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(codes, "FEW", few)
        found = codes_of(columns)
    order = sorted_order(found).to_pylist()
    assert order == sorted(range(len(keys)), key=lambda at: keys[at])
    rows = list(zip(*(column.to_pylist() for column in found), strict=True))
    assert len(set(rows)) == len(set(keys))
