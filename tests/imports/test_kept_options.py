"""The options of an import are kept, by column ID, and the next import uses them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import CorruptTableError, InvalidRequestError
from versioned_catalog.model.table_changes import KeepImportOptions

GIVEN = {
    "copy": True,
    "delimiter": ";",
    "schema": "day DATE FORMAT 'dd.MM.yyyy', zip STRING",
    "aliases": {"plz": "zip"},
    "exclude": ["note"],
}


class Planted(KeepImportOptions):
    """Options that no import keeps."""

    def apply(self, target: None, evolution: Any) -> Any:
        (_, text), *_ = self.members
        return replace(evolution, properties={**evolution.properties, "__import_options": text})


def first(lake: Lake) -> None:
    lake.text("0.csv", "plz;day;note\n00123;31.01.2024;x\n")
    done = lake.catalog.import_files("t", lake.folder, **GIVEN)
    assert (done.version, done.options_used) == (1, ())
    assert done.options_kept == ("schema", "aliases", "exclude", "delimiter")


@pytest.mark.nightly
def test_the_next_import_uses_what_the_first_one_gave(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    assert table.import_options() == {
        "schema": "day DATE FORMAT 'dd.MM.yyyy', zip STRING",
        "strict": False,
        "aliases": {"plz": "zip"},
        "exclude": ["note"],
        "delimiter": ";",
    }
    assert table.properties == {}
    (changes,) = (row["changes"] for row in table.inspect.history().to_pylist()[1:])
    assert changes == ["KEEP IMPORT OPTIONS (schema, aliases, exclude, delimiter)"]
    lake.text("1.csv", "plz;day;note\n00124;01.02.2024;y\n")
    done = lake.catalog.import_files("t", lake.folder, copy=True)
    assert (done.files, done.known, done.options_kept) == (1, 1, ())
    assert done.options_used == ("schema", "aliases", "exclude", "delimiter")
    assert lake.rows()[1] == {"day": dt.date(2024, 2, 1), "zip": "00124"}


def test_a_renamed_column_gets_what_files_have_under_the_earlier_names(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    table.alter().rename_column("zip", "postcode").rename_column("day", "zip").commit()
    lake.text("1.csv", "plz;day;note\n1;01.02.2024;y\n")
    lake.text("2.csv", "ZIP;day;note\n2;02.02.2024;y\n")
    lake.catalog.import_files("t", lake.folder, copy=True)
    assert lake.rows()[1:] == [
        {"zip": dt.date(2024, 2, 1), "postcode": "1"},
        {"zip": dt.date(2024, 2, 2), "postcode": "2"},
    ]


@pytest.mark.thorough
def test_a_column_that_was_added_again_is_another_one(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    table.alter().drop_column("day").add_column("day", "DATE").commit()
    lake.text("1.csv", "plz;day;note\n1;01.02.2024;y\n")
    with pytest.raises(InvalidRequestError, match=r"'01.02.2024' in line 2") as caught:
        lake.catalog.import_files("t", lake.folder, copy=True)
    assert "Options of earlier imports are used: schema, aliases, exclude, delimiter" in str(
        caught.value
    )
    lake.text("1.csv", "plz;day;note\n1;2024-02-01;y\n")
    lake.catalog.import_files("t", lake.folder, copy=True)
    assert lake.rows() == [{"zip": "00123", "day": None}, {"zip": "1", "day": dt.date(2024, 2, 1)}]
    table.refresh().alter().drop_column("zip").commit()
    lake.text("2.csv", "plz;day\n1;2024-02-01\n")
    with pytest.raises(InvalidRequestError, match="plz is not a column of the table"):
        lake.catalog.import_files("t", lake.folder, copy=True)


@pytest.mark.thorough
def test_nested_columns_are_followed_below_renamed_parents(lake: Lake) -> None:
    lake.text("0.json", '{"addr": {"plz": "1", "town": "x"}}\n')
    lake.load(
        schema="address.zip STRING", aliases={"addr": "address", "addr.plz": "zip"}, copy=True
    )
    table = lake.catalog.load_table("t")
    table.alter().rename_column("address.zip", "code").rename_column("address", "home").commit()
    lake.text("1.json", '{"addr": {"plz": "2", "town": "y"}}\n')
    lake.text("2.json", '{"address": {"zip": "3", "town": "z"}}\n')
    lake.text("3.json", '{"addr": {"zip": "4"}}\n')
    lake.load(copy=True)
    assert [row["home"]["code"] for row in lake.rows()] == ["1", "2", "3", "4"]


@pytest.mark.nightly
def test_positions_of_files_without_a_header_stay_when_a_column_is_dropped(lake: Lake) -> None:
    lake.text("0.csv", "1,x,2.5\n")
    lake.load(copy=True, header=False, schema="a INT, b STRING, c DOUBLE")
    lake.catalog.load_table("t").alter().drop_column("b").rename_column("c", "d").commit()
    lake.text("1.csv", "2,y,3.5\n")
    with pytest.raises(InvalidRequestError, match="b is not a column of the table"):
        lake.load(copy=True)
    lake.load(copy=True, exclude=["b"])
    assert lake.rows() == [{"a": 1, "d": 2.5}, {"a": 2, "d": 3.5}]


@pytest.mark.thorough
def test_what_is_given_replaces_what_is_kept(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2], "c": [3]})
    lake.load(schema="a BIGINT", strict=True)
    assert lake.catalog.import_files("t", lake.folder, strict=True).options_kept == ()
    lake.write("1.parquet", {"a": [2], "b": [2], "c": [3]})
    lake.load()
    assert lake.rows() == [{"a": 1}, {"a": 2}]
    lake.write("2.parquet", {"a": [3], "b": [2], "c": [3]})
    done = lake.catalog.import_files("t", lake.folder, strict=False, exclude=["c"], evolve=True)
    assert done.options_kept == ("schema", "exclude")
    assert lake.rows()[2] == {"a": 3, "b": 2}
    lake.write("3.parquet", {"a": [4], "b": [2], "c": [3]})
    done = lake.catalog.import_files("t", lake.folder, kept="ignore", exclude=["b", "c"])
    assert (done.options_used, done.options_kept) == ((), ())
    assert lake.catalog.load_table("t").import_options()["exclude"] == ["c"]
    done = lake.catalog.import_files("t", lake.folder, kept="forget")
    assert (done.files, done.options_kept) == (0, ("schema", "exclude"))
    assert lake.catalog.load_table("t").import_options() == {}
    with pytest.raises(InvalidRequestError, match="kept is 'drop'; it must be 'use', 'ignore' or"):
        lake.load(kept="drop")


@pytest.mark.thorough
def test_options_of_an_import_that_failed_are_not_kept(lake: Lake) -> None:
    lake.text("0.csv", "a\n1\n")
    lake.load(copy=True)
    lake.text("1.csv", "a\nx\n")
    with pytest.raises(InvalidRequestError):
        lake.load(copy=True, null="-", schema="a BIGINT")
    assert lake.catalog.load_table("t").import_options() == {}


@pytest.mark.thorough
def test_a_rollback_takes_the_options_back_and_a_delete_does_not(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2]})
    lake.load()
    table = lake.catalog.load_table("t")
    lake.write("1.parquet", {"a": [2], "b": [2], "c": [1]})
    lake.load(exclude=["c"])
    table.refresh().rollback(1)
    assert table.import_options() == {}
    with pytest.raises(InvalidRequestError, match="c is not a column of the table"):
        lake.load()
    lake.load(exclude=["c"])
    assert lake.rows() == [{"a": 1, "b": 2}, {"a": 2, "b": 2}]
    table.refresh().delete([("a", "=", 2)])
    lake.write("2.parquet", {"a": [3], "b": [2], "c": [1]})
    lake.load()
    assert [row["a"] for row in lake.rows()] == [1, 3]


@pytest.mark.nightly
def test_the_property_is_not_set_by_hand_and_is_checked(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    for change in (
        table.alter().set_property("__import_options", "{}"),
        table.alter().unset_property("__import_options"),
    ):
        with pytest.raises(InvalidRequestError, match="pass the options to import_files, or kept="):
            change.commit()
    stored = json.loads(table.state.properties["__import_options"])
    assert stored["schema"]["columns"] == [
        {"id": 1, "path": ["day"], "format": "dd.MM.yyyy"},
        {"id": 2, "path": ["zip"]},
    ]
    assert stored["aliases"] == [{"path": ["plz"], "id": 2}]


@pytest.mark.nightly
@pytest.mark.parametrize("text", ["[]", "{", '{"schema":{"columns":[{}]}}', '{"aliases":3}'])
def test_damaged_options_are_reported_and_can_be_forgotten(lake: Lake, text: str) -> None:
    first(lake)
    lake.catalog.load_table("t").alter().add_all([Planted((("text", text),), ())]).commit()
    with pytest.raises(CorruptTableError, match="does not hold the options of an import"):
        lake.load(copy=True)
    lake.load(**GIVEN, kept="forget")
    assert lake.catalog.load_table("t").import_options()["delimiter"] == ";"


@pytest.mark.nightly
def test_a_format_that_does_not_fit_a_changed_type_is_refused(lake: Lake) -> None:
    lake.text("0.csv", "t\n10:30\n")
    lake.load(copy=True, schema="t TIME FORMAT 'HH:mm'")
    table = lake.catalog.load_table("t")
    text = table.state.properties["__import_options"].replace("HH:mm", "dd.MM.yyyy")
    table.alter().add_all([Planted((("text", text),), ())]).commit()
    with pytest.raises(InvalidRequestError, match="kept from an earlier import does not fit"):
        lake.load(copy=True)


@pytest.mark.nightly
def test_a_declaration_that_the_table_lacks_is_refused(lake: Lake) -> None:
    lake.write("0.parquet", {"a": pa.array([1], pa.int64())})
    lake.load()
    lake.write("1.parquet", {"a": pa.array([2], pa.int64())})
    with pytest.raises(InvalidRequestError, match="a has NOT NULL in the provided schema, and not"):
        lake.load(schema="a BIGINT NOT NULL")
    with pytest.raises(
        InvalidRequestError, match="a has a DEFAULT in the provided schema, and not"
    ):
        lake.load(schema="a BIGINT DEFAULT 3")


@pytest.mark.thorough
@pytest.mark.parametrize("copy", [False, True])
def test_two_imports_at_once_keep_both_their_options(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [0], "b": [0], "c": [0]})
    lake.load(copy=copy)
    lake.write("one/1.parquet", {"A": [1], "b": [1], "c": [1]})
    lake.write("two/2.parquet", {"a": [2], "b": [2], "d": [2]})
    other = lake.catalog.load_table("t")
    begun: list[str] = []

    def between(step: str, done: int, of: int) -> None:
        if step == "schemas" and not begun:
            begun.append(step)
            other.import_files(lake.folder / "two", copy=copy, aliases={"d": "c"}, null=None)

    table = lake.catalog.load_table("t").refresh()
    done = table.import_files(lake.folder / "one", copy=copy, exclude=["b"], progress=between)
    assert (done.files, done.options_kept) == (1, ("exclude",))
    kept = lake.catalog.load_table("t").import_options()
    assert kept == {"aliases": {"d": "c"}, "exclude": ["b"]}
    rows = sorted(lake.rows(), key=lambda row: row["a"])
    assert rows == [
        {"a": 0, "b": 0, "c": 0},
        {"a": 1, "b": None, "c": 1},
        {"a": 2, "b": 2, "c": 2},
    ]


@pytest.mark.thorough
def test_an_import_that_is_killed_has_kept_its_options_or_has_no_rows(lake: Lake) -> None:
    for number in range(3):
        lake.text(f"{number}.csv", f"a;note\n{number};x\n")

    class Killed(Exception):
        pass

    for last in range(4):

        def kill(step: str, done: int, of: int, last: int = last) -> None:
            if step == "files" and done > last:
                raise Killed

        given = {"copy": True, "delimiter": ";", "exclude": ["note"], "batch_files": 1}
        name = f"t{last}"
        if last < 3:
            with pytest.raises(Killed):
                lake.catalog.import_files(name, lake.folder, progress=kill, **given)
        else:
            lake.catalog.import_files(name, lake.folder, progress=kill, **given)
        table = lake.catalog.load_table(name)
        kept = {"exclude": ["note"], "delimiter": ";"} if last else {}
        assert (table.count(), table.import_options()) == (last, kept)
        again = {"copy": True} if last else given
        assert table.import_files(lake.folder, **again).files == 3 - last
        assert lake.rows(name) == [{"a": number} for number in range(3)]
        assert table.import_options() == {"exclude": ["note"], "delimiter": ";"}


@pytest.mark.nightly
def test_a_clone_has_its_own_options_and_a_replaced_table_none(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    lake.catalog.clone_table("copy", "t")
    copy = lake.catalog.load_table("copy")
    assert copy.import_options() == table.import_options()
    lake.text("1.csv", "plz;day\n1;01.02.2024\n")
    assert copy.import_files(lake.folder / "1.csv", copy=True, exclude=[]).files == 1
    assert "exclude" not in copy.import_options()
    assert table.refresh().import_options()["exclude"] == ["note"]
    lake.catalog.replace_table("t", "day STRING, zip STRING")
    assert lake.catalog.load_table("t").import_options() == {}


@pytest.mark.nightly
def test_a_pin_sees_what_imports_with_kept_options_bring(lake: Lake) -> None:
    first(lake)
    table = lake.catalog.load_table("t")
    table.pin_schema("old")
    table.alter().rename_column("zip", "postcode").commit()
    lake.text("1.csv", "plz;day\n1;01.02.2024\n")
    lake.load(copy=True)
    rows = table.refresh().seen_as("old").scan().to_arrow().to_pylist()
    assert rows[1] == {"day": dt.date(2024, 2, 1), "zip": "1"}
