"""change_type from every type to every type, on data; the legal changes are written by hand."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from pairwise import some
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.ddl import parse_type

D = dt.date
N = dt.datetime
U = dt.UTC

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "byte": [-128, 127],
    "short": [-32768, 32767],
    "int": [-(2**31), 2**31 - 1],
    "long": [-(2**63), 2**63 - 1],
    "float": [0.5, -2.0],
    "double": [0.1, float("inf")],
    "decimal(5,2)": [Decimal("999.99"), Decimal("-0.01")],
    "decimal(10,0)": [Decimal("9999999999"), Decimal("-1")],
    "decimal(12,2)": [Decimal("9999999999.99"), Decimal("0.00")],
    "decimal(22,2)": [Decimal("12345678901234567890.12"), Decimal("1.00")],
    "string": ["", "zoë"],
    "char(3)": ["abc", "a  "],
    "char(5)": ["abcde", "a    "],
    "varchar(3)": ["abc", ""],
    "varchar(5)": ["abcde", ""],
    "binary": [b"\x00", b""],
    "date": [D(1, 1, 1), D(9999, 12, 31)],
    "timestamp": [N(1970, 1, 1, tzinfo=U), N(2024, 2, 29, 1, 2, 3, 4, tzinfo=U)],
    "timestamp_ntz": [N(1970, 1, 1), N(2024, 2, 29, 1, 2, 3, 4)],
    "time(6)": [dt.time(0), dt.time(23, 59, 59, 999999)],
    "interval day to second": [dt.timedelta(0), dt.timedelta(days=-1, microseconds=5)],
}

FIT: dict[str, list[Any]] = {
    "byte": [Decimal("-1"), Decimal("0.00"), Decimal("1.00")],
    "short": [-128, 127, Decimal("-1"), Decimal("0.00"), Decimal("1.00")],
    "int": [-128, 127, -32768, 32767, Decimal("-1"), Decimal("0.00"), Decimal("1.00")],
    "long": [Decimal("1.00")],
    "float": [float("inf")],
    "decimal(5,2)": [Decimal("0.00"), Decimal("1.00")],
    "decimal(10,0)": [Decimal("0.00"), Decimal("1.00")],
    "decimal(12,2)": [Decimal("1.00")],
    "varchar(3)": ["", "zoë"],
    "varchar(5)": ["", "zoë"],
    "date": [N(1970, 1, 1)],
}
"""Other values of the types here, by the narrower types that they fit."""

LEGAL = {
    "byte": ["short", "int", "long", "double", "decimal(10,0)", "decimal(12,2)", "decimal(22,2)"],
    "short": ["int", "long", "double", "decimal(10,0)", "decimal(12,2)", "decimal(22,2)"],
    "int": ["long", "double", "decimal(10,0)", "decimal(12,2)", "decimal(22,2)"],
    "long": ["decimal(22,2)"],
    "float": ["double"],
    "decimal(5,2)": ["decimal(12,2)", "decimal(22,2)"],
    "decimal(10,0)": ["decimal(12,2)", "decimal(22,2)"],
    "decimal(12,2)": ["decimal(22,2)"],
    "char(3)": ["varchar(3)", "varchar(5)", "string"],
    "char(5)": ["varchar(5)", "string"],
    "varchar(3)": ["varchar(5)", "string"],
    "varchar(5)": ["string"],
    "date": ["timestamp_ntz"],
}


def widened(value: Any, new: str) -> Any:
    """What a value becomes in a wider type, computed in plain Python."""
    if isinstance(value, dt.datetime):
        return value
    if new == "double":
        return float(value)
    if new.startswith("decimal"):
        return Decimal(value)
    if new == "timestamp_ntz":
        return dt.datetime(value.year, value.month, value.day)
    return value


def arrow(type_: str, values: list[Any]) -> pa.Array:
    return pa.array(values, to_arrow_type(parse_type(type_)))


LOCATIONS = {
    "top": ("v", "{}", lambda v: v),
    "struct": ("v.x", "struct<x: {}, y: int>", lambda v: {"x": v, "y": 1}),
    "list": ("v.element", "array<{}>", lambda v: [v, None]),
    "map": ("v.value", "map<string, {}>", lambda v: [("k", v)]),
    "key": ("v.key", "map<{}, string>", lambda v: None if v is None else [(v, "k")]),
}


def nest(location: str, type_: str, values: list[Any]) -> pa.Table:
    _, ddl, wrap = LOCATIONS[location]
    kind = to_arrow_type(parse_type(ddl.format(type_)))
    return pa.table({"v": pa.array([wrap(v) for v in values], kind)})


@pytest.mark.parametrize("location", some({"top", "map"}, LOCATIONS))
@pytest.mark.parametrize("old", list(VALUES))
def test_each_type_widens_to_the_legal_types_only(old: str, location: str) -> None:
    path, ddl, wrap = LOCATIONS[location]
    values = [*VALUES[old], None]

    def create() -> Table:
        table = Catalog.create_path(f"memory://{uuid4()}", f"v {ddl.format(old)}")
        table.append(nest(location, old, values))
        return table

    unchanged = create()
    for new, fresh in VALUES.items():
        if new != old and new not in LEGAL.get(old, []):
            with pytest.raises(InvalidRequestError) as caught:
                unchanged.alter().change_type(path, new).commit()
            message = str(caught.value).lower().replace(" ", "")
            names = {"byte": "tinyint", "short": "smallint", "long": "bigint"}
            for name in (names.get(old, old), names.get(new, new)):
                assert name.replace(" ", "") in message, message
            assert unchanged.version == 1
            continue
        table = create()
        table.alter().change_type(path, new).commit()
        expected = [wrap(None if v is None else widened(v, new)) for v in values]
        assert table.scan().to_arrow()["v"].to_pylist() == expected, new
        table.append(nest(location, new, fresh))
        expected += [wrap(v) for v in fresh]
        assert table.scan().to_arrow()["v"].to_pylist() == expected, new
        if location in ("top", "struct"):
            wanted = widened(VALUES[old][0], new)
            present = [widened(v, new) for v in VALUES[old]] + list(fresh)
            for prune in (True, False):
                found = table.scan(filters=[(path, "=", wanted)], prune=prune).count()
                assert found == present.count(wanted), new


@pytest.mark.thorough
@pytest.mark.parametrize("location", some({"top"}, LOCATIONS))
@pytest.mark.parametrize("old", list(LEGAL))
def test_each_type_narrows_back_if_its_values_fit(old: str, location: str) -> None:
    path, ddl, wrap = LOCATIONS[location]
    for new in LEGAL[old]:
        table = Catalog.create_path(f"memory://{uuid4()}", f"v {ddl.format(new)}")
        values = [widened(value, new) for value in VALUES[old]]
        table.append(nest(location, new, [*values, None]))
        if old.startswith("char") or location == "key":
            with pytest.raises(InvalidRequestError, match=r"CHAR|may not hold|key of a map"):
                table.alter().narrow(path, old).commit()
            continue
        version = table.version
        table.append(nest(location, new, VALUES[new]))
        misfits = [v for v in VALUES[new] if v not in values and v not in FIT.get(old, [])]
        if misfits:
            with pytest.raises(InvalidRequestError, match=f"since {len(misfits)} of its values"):
                table.alter().narrow(path, old).commit()
            table.rollback(version)
        table.alter().narrow(path, old).commit()
        kept = VALUES[old] if misfits else [*VALUES[old], *VALUES[new]]
        expected = [wrap(v) for v in kept]
        found = table.scan().to_arrow()["v"].to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, [*expected, wrap(None)])), new
        table.append(nest(location, old, VALUES[old]))
        assert len(table.scan().to_arrow()) == len(found) + len(VALUES[old])


@pytest.mark.parametrize("type_", ["array<int>", "map<string,int>", "struct<x: int>", "variant"])
def test_nested_types_do_not_change_as_a_whole(type_: str) -> None:
    table = Catalog.create_path(f"memory://{uuid4()}", f"v {type_}, w int")
    for new in ("string", "array<long>", "struct<x: long>"):
        with pytest.raises(InvalidRequestError):
            table.alter().change_type("v", new).commit()
    with pytest.raises(InvalidRequestError):
        table.alter().change_type("w", type_).commit()
