"""The responses of Python about tables that are seen in an earlier schema, tested without a JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_versioned.sql.dispatch import respond
from versioned_catalog import Catalog, Table

Json = dict[str, Any]
EQUALS_5 = {"kind": "literal_term", "literal": {"type": "integer", "value": "5"}}


class Jar:
    """Sends requests as the jar does, about a session with a schema label."""

    def __init__(self, warehouse: Path, label: str | None = "job") -> None:
        self._catalog = {
            "name": "versioned",
            "warehouse": str(warehouse),
            "storage": {},
            "schema_label": label,
            "wap_branch": None,
            "wap_id": None,
        }

    def send(self, name: str, /, **body: Any) -> Json:
        given = {
            "request": name,
            "body": body,
            "commit": {"id": "c" * 36, "retry": False, "by": {}},
        }
        response: Json = json.loads(respond(given, sent=[]))
        return response

    def load(self, **options: str) -> Json:
        asked = {"schema_version": None, "overflow": None, "branch": None, **options}
        body = {"version": None, "timestamp": None, "views": False, **asked}
        response = self.send("load", catalog=self._catalog, name=["n", "t"], **body)
        loaded: Json = response["response"]["relation"]
        return loaded

    def plan_scan(self, table: Json, schema: list[Json], *filters: Json) -> list[Json]:
        plan = self.send(
            "plan_scan",
            table=table,
            schema={"type": "struct", "fields": schema},
            filters=list(filters),
            limit=None,
            allow_native=True,
            grouped=False,
            ordered=False,
            whole=False,
            in_python=None,
        )
        groups: list[Json] = plan["response"]["groups"]
        return groups

    def plan_write(self, table: Json, columns: list[Json], carried: list[str] | None) -> Json:
        return self.send(
            "plan_write",
            table=table,
            creation=None,
            schema={"type": "struct", "fields": columns},
            filters=[],
            options=[],
            lengths_checked=True,
            distribution_mode=None,
            carried=carried,
            change_column=None,
        )


def column(name: str, type_: Any, nullable: bool = True) -> Json:
    return {"name": name, "type": type_, "nullable": nullable, "metadata": {}}


def struct(*fields: Json) -> Json:
    return {"type": "struct", "fields": list(fields)}


def equals_5(name: str) -> Json:
    children = [{"kind": "column_term", "path": [name]}, EQUALS_5]
    return {"kind": "predicate_term", "name": "=", "children": children}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


def made(catalog: Catalog, ddl: str) -> Table:
    table = catalog.create_table("n.t", ddl)
    table.pin_schema("job")
    return table


def test_only_filters_on_columns_of_the_same_type_reach_parquet(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "n INT, r INT")
    table.append(pa.table({"n": pa.array([5], pa.int32()), "r": pa.array([5], pa.int32())}))
    table.alter().change_type("n", "BIGINT").rename_column("r", "s").commit()
    jar = Jar(tmp_path)
    wanted = [column("n", "integer"), column("r", "integer")]
    (group,) = jar.plan_scan(jar.load()["table"], wanted, equals_5("n"), equals_5("r"))
    assert group["filters"] == [1]
    assert group["names"] == [{"column": ["r"], "physical": ["r"]}]
    assert group["narrowed"] == [{"index": 0, "name": "n", "stored": "long", "shown": "integer"}]
    assert [one["type"] for one in group["read_schema"]["fields"]] == ["long", "integer"]


def test_a_narrowed_column_in_an_array_is_read_in_python(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "l ARRAY<INT>")
    table.append(pa.table({"l": pa.array([[5]], pa.list_(pa.int32()))}))
    table.alter().change_type("l.element", "BIGINT").commit()
    jar = Jar(tmp_path)
    array = {"type": "array", "elementType": "integer", "containsNull": True}
    (group,) = jar.plan_scan(jar.load()["table"], [column("l", array)])
    assert group == {"kind": "python_group", "tasks": 0}


def test_unseen_columns_have_names_that_no_column_has(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "a INT, __UNSEEN_3 INT")
    table.alter().add_column("b", "INT").commit()
    (unseen,) = Jar(tmp_path).load()["unseen"]
    assert (unseen["id"], unseen["name"], unseen["type"]) == (3, "__unseen_3_", "integer")
    assert Jar(tmp_path, None).load()["unseen"] == []


def test_the_unseen_fields_of_a_struct_are_carried_without_the_others(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "p STRUCT<x: INT, q: STRUCT<y: INT>>")
    table.alter().add_column("p.z", "INT").add_column("p.q.w", "INT").commit()
    (unseen,) = Jar(tmp_path).load()["unseen"]
    assert unseen["name"] == "__unseen_1"
    (q, z) = unseen["type"]["fields"]
    assert (q["name"], [one["name"] for one in q["type"]["fields"]]) == ("q", ["w"])
    assert z["name"] == "z"


def test_sources_of_stored_columns(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "a INT, b INT, c STRUCT<x: INT>")
    change = table.alter().add_column("d", "STRING", default="it's", first=True).drop_column("b")
    change.add_column("c.y", "INT", default=7).move_column("a", after="c").commit()
    jar = Jar(tmp_path)
    ref = jar.load()["table"]
    columns = [column("a", "integer"), column("b", "integer")]
    columns.append(column("c", struct(column("x", "integer"))))
    inserted = jar.plan_write(ref, columns, None)["response"]["rows"]
    assert [one["name"] for one in inserted["schema"]["fields"]] == ["d", "__hidden_2", "c", "a"]
    given = {"kind": "given_column", "carried": None, "fields": None}
    default = {"kind": "unseen_column", "carried": None, "default_value": "'it\\'s'"}
    inner = [{**given, "index": 0}, {**default, "default_value": "7"}]
    assert inserted["sources"] == [
        default,
        {**given, "index": 1},
        {**given, "index": 2, "fields": inner},
        {**given, "index": 0},
    ]
    names = ["_segment", *(one["name"] for one in jar.load()["unseen"])]
    replaced = jar.plan_write(ref, columns, names)["response"]["rows"]
    d, _, c, _ = replaced["sources"]
    assert d == {**default, "carried": names.index("__unseen_5")}
    assert c["carried"] == names.index("__unseen_3")
    assert c["fields"][1] == {**default, "carried": 0, "default_value": "7"}


def test_rows_that_are_stored_as_given_are_not_projected(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "a INT, b INT")
    table.alter().set_default("a", 5).commit()
    jar = Jar(tmp_path, None)
    columns = [column("a", "integer"), column("b", "integer")]
    plan = jar.plan_write(jar.load()["table"], columns, ["_segment"])["response"]
    assert plan["is_native"]
    assert plan["rows"] is None


def test_fields_of_maps_are_written_in_python_and_not_kept_by_statements(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "m MAP<STRING, STRUCT<x: INT>>")
    table.alter().add_column("m.value.y", "INT").commit()
    jar = Jar(tmp_path)
    map_ = {
        "type": "map",
        "keyType": "string",
        "valueType": struct(column("x", "integer")),
        "valueContainsNull": True,
    }
    ref, columns = jar.load()["table"], [column("m", map_)]
    plan = jar.plan_write(ref, columns, None)["response"]
    assert not plan["is_native"]
    assert plan["rows"] is None
    refused = jar.plan_write(ref, columns, ["_segment"])["error"]
    assert refused["condition"] == "VERSIONED_NOT_SUPPORTED"
    assert "in a map" in refused["message"]


def test_a_new_row_needs_a_value_for_an_unseen_column_that_is_not_null(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "a INT")
    table.alter().add_column("b", "INT", default=5, nullable=False).drop_default("b").commit()
    jar = Jar(tmp_path)
    ref, columns = jar.load()["table"], [column("a", "integer")]
    error = jar.plan_write(ref, columns, None)["error"]
    assert error["condition"] == "VERSIONED_NULL_VALUE"
    # A statement that replaces rows keeps the values that they have.
    assert "response" in jar.plan_write(ref, columns, ["_segment", "__unseen_2"])


def test_texts_that_spark_pads_are_not_rewritten(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "c CHAR(3), d CHAR(3)")
    table.alter().change_type("c", "STRING").commit()
    jar = Jar(tmp_path)
    ref, columns = jar.load()["table"], [column("c", "string"), column("d", "string")]
    error = jar.plan_write(ref, columns, [])["error"]
    assert error["condition"] == "VERSIONED_NOT_SUPPORTED"
    assert "c is STRING now and CHAR(3)" in error["message"]
    assert "response" in jar.plan_write(ref, columns, None)


def test_a_delete_by_key_needs_nothing_but_the_key(catalog: Catalog, tmp_path: Path) -> None:
    ddl = "m MAP<STRING, STRUCT<x: INT>>, c CHAR(3), id INT NOT NULL"
    table = catalog.create_table("n.t", ddl, primary_key=["id"])
    table.pin_schema("job")
    change = table.alter().change_type("c", "STRING").change_type("id", "BIGINT")
    change.add_column("m.value.y", "INT").move_column("id", first=True).commit()
    jar = Jar(tmp_path)
    ref = jar.load()["table"]
    plan = jar.send("plan_delta", table=ref, carried=None)["response"]
    nothing = {"kind": "unseen_column", "carried": None, "default_value": None}
    key = {"kind": "given_column", "index": 2, "carried": None, "fields": None}
    assert plan["rows"]["sources"] == [key, nothing, nothing]
    assert "error" in jar.send("plan_delta", table=ref, carried=[])


def test_aggregates_of_a_narrowed_column_are_not_taken_from_metadata(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "n INT, r INT")
    table.append(pa.table({"n": pa.array([5], pa.int32()), "r": pa.array([6], pa.int32())}))
    table.alter().change_type("n", "BIGINT").commit()
    jar = Jar(tmp_path)
    ref = jar.load()["table"]
    six, one = {"type": "integer", "values": ["6"]}, {"type": "long", "values": ["1"]}
    for function, name, values in (
        ("max", "n", None),
        ("max", "r", [six]),
        ("count", "n", None),  # of those that fit, if null is shown in place of others
        ("count", "r", [one]),
    ):
        functions = [{"function": function, "column": [name]}]
        found = jar.send("aggregate", table=ref, functions=functions, by=[])["response"]
        assert found["columns"] == values
    by_n = jar.send("aggregate", table=ref, functions=[], by=[["n"]])["response"]
    by_r = jar.send("aggregate", table=ref, functions=[], by=[["r"]])["response"]
    assert (by_n["columns"], by_r["columns"]) == (None, [six])


def test_the_option_wins_over_the_label_and_must_name_a_schema(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = made(catalog, "a INT")
    table.alter().rename_column("a", "b").commit()
    jar = Jar(tmp_path)
    assert jar.load()["columns"][0]["name"] == "a"
    assert jar.load(schema_version="1")["columns"][0]["name"] == "b"
    assert Jar(tmp_path, "nobody").load()["table"]["seen"] is None
    with pytest.raises(KeyError):
        jar.load(schema_version="nobody")
    with pytest.raises(KeyError):
        Jar(tmp_path, "0").load()  # the label of a session is no number


def test_null_in_place_of_values_makes_a_column_nullable(catalog: Catalog, tmp_path: Path) -> None:
    table = made(catalog, "n INT NOT NULL, r INT NOT NULL")
    table.alter().change_type("n", "BIGINT").commit()
    jar = Jar(tmp_path)
    shown = {one["name"]: one["nullable"] for one in jar.load(overflow="NULL")["columns"]}
    assert shown == {"n": True, "r": False}
    assert jar.load(overflow="NULL")["table"]["overflow"] == "null"
    assert not jar.load()["columns"][0]["nullable"]


def test_a_session_whose_pin_was_retired_is_warned_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a INT, b INT")
    table.pin_schema("late")
    other = Jar(tmp_path / "w", "other")
    other.load()
    assert not caplog.records  # a session may use tables without such a pin
    jar = Jar(tmp_path / "w", "late")
    jar.load()
    version = table.retire_schema("late").version
    jar.load()
    jar.load()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(
        "versioned.n.t: the schema pin 'late', the label of this session, was retired at version "
        f"{version}, and the table is used in its current schema; unset schema_label"
    )
