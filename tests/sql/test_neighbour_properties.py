"""Table properties of Iceberg and Delta in SQL, tested without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pins.test_requests import Jar
from versioned_catalog import Catalog

Json = dict[str, Any]


class Statements(Jar):
    """CREATE TABLE and ALTER TABLE as the jar sends them."""

    def create(self, partitioning: tuple[str, ...] = (), **properties: str) -> Json:
        column = {"name": "a", "type": "integer", "nullable": True, "comment": None}
        declaration = {
            "name": ["n", "t"],
            "columns": [{**column, "default_value": None, "generation": None, "identity": None}],
            "partitioning": list(partitioning),
            "constraints": [],
            "properties": properties,
            "default_provider": "parquet",
        }
        return self.send("create", catalog=self._catalog, declaration=declaration, like=None)

    def alter(self, *changes: Json) -> Json:
        return self.send("alter", catalog=self._catalog, name=["n", "t"], changes=list(changes))


@pytest.fixture
def jar(tmp_path: Path) -> Statements:
    Catalog(tmp_path).create_namespace("n")
    return Statements(tmp_path, None)


def kept(jar: Statements, *responses: Json) -> tuple[Json, list[str]]:
    """The properties after a statement, and what it says; fails if it was refused."""
    (response,) = responses
    assert "response" in response, response
    table, warnings = response["response"]["table"], response["response"]["warnings"]
    assert jar.load()["properties"] == table["properties"]
    return table["properties"], warnings


def test_properties_with_a_counterpart_are_kept_as_it(jar: Statements) -> None:
    given = {
        "write.delete.mode": "merge-on-read",
        "write.update.mode": "Merge-On-Read",
        "write.merge.isolation-level": "snapshot",
        "write.distribution-mode": "hash",
        "write.target-file-size-bytes": "1048576",
        "write.spark.accept-any-schema": "true",
        "delta.autoOptimize.autoCompact": "false",
        "delta.setTransactionRetentionDuration": "interval 12 hours",
        "write.format.default": "parquet",
        "team": "ops",
    }
    properties, said = kept(jar, jar.create(**given))
    assert properties == {
        "row_changes": "mark",
        "isolation": "snapshot",
        "distribution_mode": "hash",
        "target_segment_bytes": "1048576",
        "auto_maintain": "off",
        "application_retention": "12 hours",
        "team": "ops",
    }
    assert "n.t: write.delete.mode = merge-on-read is kept as row_changes = mark" in said
    assert "n.t: write.format.default = parquet is not kept, since every table is so" in said
    assert len(said) == 9


def test_alter_sets_and_unsets_the_counterpart(jar: Statements) -> None:
    jar.create()
    marks = {"kind": "set_property", "key": "delta.enableDeletionVectors", "value": "true"}
    mapped = {"kind": "set_property", "key": "delta.columnMapping.mode", "value": "name"}
    size = {"kind": "set_property", "key": "delta.targetFileSize", "value": "2MB"}
    properties, said = kept(jar, jar.alter(marks, mapped, size))
    assert properties == {"row_changes": "mark", "target_segment_bytes": "2097152"}
    assert said == [
        "versioned.n.t: delta.enableDeletionVectors = true is kept as row_changes = mark",
        "versioned.n.t: delta.columnMapping.mode = name is not kept, since every table is so",
        "versioned.n.t: delta.targetFileSize = 2MB is kept as target_segment_bytes = 2097152",
    ]
    unset = {"kind": "unset_property", "key": "delta.enableDeletionVectors"}
    properties, said = kept(jar, jar.alter(unset))
    assert properties == {"target_segment_bytes": "2097152"}
    assert said == [
        "versioned.n.t: delta.enableDeletionVectors is kept as row_changes, which is unset"
    ]
    properties, said = kept(jar, jar.alter({**unset, "key": "delta.columnMapping.mode"}))
    assert properties == {"target_segment_bytes": "2097152"}
    assert said == [
        "versioned.n.t: delta.columnMapping.mode can't be unset, since every table is so"
    ]


def test_one_alter_can_not_say_two_things(jar: Statements) -> None:
    jar.create()

    def setting(key: str, value: str) -> Json:
        return {"kind": "set_property", "key": key, "value": value}

    marks, copies = (
        setting(f"write.{what}.mode", mode)
        for what, mode in (("delete", "merge-on-read"), ("update", "copy-on-write"))
    )
    for other in (marks, setting("row_changes", "mark")):
        for changes in ((other, copies), (copies, other)):
            refused = jar.alter(*changes)["error"]["message"]
            assert "one property row_changes holds for all statements" in refused
    unset = {"kind": "unset_property", "key": "write.merge.mode"}
    assert (
        "sets the property row_changes and unsets it" in jar.alter(marks, unset)["error"]["message"]
    )
    assert jar.load()["properties"] == {}


def test_a_primary_key_is_not_dropped_under_another_name(jar: Statements, tmp_path: Path) -> None:
    Catalog(tmp_path).create_table("n.t", "a INT", primary_key=["a"])
    for name in ("pk", "primary_key"):
        drop = {"kind": "drop_constraint", "name": name, "if_exists": True}
        assert "can't be changed" in jar.alter(drop)["error"]["message"]


@pytest.mark.parametrize(
    "given, said",
    [
        ({"delta.columnMapping.mode": "none"}, "delta.columnMapping.mode = none is not possible"),
        ({"write.format.default": "orc"}, "write.format.default = orc is not possible"),
        ({"delta.targetFileSize": "big"}, "delta.targetFileSize = big is not possible"),
        ({"delta.appendOnly": "yes"}, "delta.appendOnly = yes is not possible"),
        (
            {"write.delete.mode": "merge-on-read", "write.merge.mode": "copy-on-write"},
            "one property row_changes holds for all statements",
        ),
        (
            {"delta.enableDeletionVectors": "true", "row_changes": "copy"},
            "another property sets it",
        ),
    ],
)
def test_others_are_refused(jar: Statements, given: dict[str, str], said: str) -> None:
    assert said in jar.create(**given)["error"]["message"]


def test_cluster_by_sorts(jar: Statements) -> None:
    properties, _ = kept(jar, jar.create(("cluster_by(a)",)))
    assert properties == {"sort_by": "a"}
    assert kept(jar, jar.alter({"kind": "cluster_by", "columns": []}))[0] == {}
    assert kept(jar, jar.alter({"kind": "cluster_by", "columns": [["a"]]}))[0] == {"sort_by": "a"}
    both = jar.create(("cluster_by(a)",), sort_by="a")
    assert "leave out CLUSTER BY" in both["error"]["message"]


@pytest.mark.parametrize("format_", ["iceberg", "DELTA"])
def test_using_another_format_creates_ours_and_says_so(jar: Statements, format_: str) -> None:
    said = kept(jar, jar.create(provider=format_))[1]
    assert said == [f"n.t: USING {format_} creates a versioned table in this catalog"]
    assert "USING orc is not possible" in jar.create(provider="orc")["error"]["message"]
