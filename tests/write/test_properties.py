"""Keys of table properties: misspelled ones are refused, and a user's own are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealing import resealed
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.commit.append_only import is_append_only
from versioned_catalog.commit.branch_rules import stages_writes
from versioned_catalog.commit.mark_rules import row_changes_of
from versioned_catalog.commit.row_rules import isolation_of
from versioned_catalog.model.keys import shreds_variants
from versioned_catalog.model.pin_changes import refuses_breaks
from versioned_catalog.write.properties import KNOWN, PROPERTIES
from versioned_catalog.write.retry import application_retention
from versioned_catalog.write.row_schema import is_live
from versioned_catalog.write.writer import target_bytes

TYPOS = {
    "ttl_": "ttl",
    "TTL": "ttl",
    "ttl_days": "ttl",
    "sortby": "sort_by",
    "sortBy": "sort_by",
    "sort-by": "sort_by",
    "auto_compaction": "auto_compact",
    "autocompact": "auto_compact",
    "auto_maintenance": "auto_maintain",
    "autoMaintain": "auto_maintain",
    "target_segment_size": "target_segment_bytes",
    "isolation_level": "isolation",
    "Isolation": "isolation",
    "primarykey": "primary_key",
    "rowChanges": "row_changes",
}
OWN = [
    "team",
    "owner_team",
    "color",
    "title",
    "a",
    "myteam.ttl",
    "deltas.appendOnly",
    "team.write.sort_by",
]
OF_OTHERS = {
    "delta.appendOnly": "belongs to Delta.*set append_only",
    "delta.constraints.positive": "ALTER TABLE ... ADD CONSTRAINT",
    "delta.somethingNew": "belongs to Delta and has no effect here; leave it out$",
    "delta.enableDeletionVectors": "belongs to Delta.*set row_changes to auto, copy or mark",
    "write.delete.mode": "belongs to Iceberg.*set row_changes to .*merged on read",
    "write.update.mode": "belongs to Iceberg.*set row_changes to",
    "write.merge.mode": "belongs to Iceberg.*set row_changes to",
    "write.target-file-size-bytes": "set target_segment_bytes",
    "format-version": "belongs to Iceberg",
    "hoodie.table.name": "belongs to Hudi",
}

Sets = Callable[[Path, str], Any]
SETTERS: dict[str, Sets] = {
    "create_path": lambda root, key: Catalog.create_path(
        root / "p", "a INT", properties={key: "x"}
    ),
    "create_table": lambda root, key: _catalog(root).create_table(
        "n.new", "a INT", properties={key: "x"}
    ),
    "replace_table": lambda root, key: _catalog(root).replace_table(
        "n.t", "a INT", properties={key: "x"}
    ),
    "alter": lambda root, key: (
        _catalog(root).load_table("n.t").alter().set_property(key, "x").commit()
    ),
}


def _catalog(root: Path) -> Catalog:
    catalog = Catalog(root / "warehouse")
    catalog.create_namespace("n", if_not_exists=True)
    if not catalog.table_exists("n.t"):
        catalog.create_table("n.t", "a INT")
    return catalog


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize(("key", "meant"), TYPOS.items())
def test_the_error_for_a_typo_suggests_the_key(
    tmp_path: Path, setter: str, key: str, meant: str
) -> None:
    with pytest.raises(InvalidRequestError, match=f"{key} is unknown; did you mean {meant}\\?"):
        SETTERS[setter](tmp_path, key)


@pytest.mark.parametrize("setter", SETTERS)
def test_a_user_s_own_keys_are_kept(tmp_path: Path, setter: str) -> None:
    for key in OWN:
        SETTERS[setter](tmp_path / key, key)


@pytest.mark.parametrize("setter", SETTERS)
def test_properties_of_other_formats_are_refused(tmp_path: Path, setter: str) -> None:
    """They would promise what no table does here, such as ``delta.enableRowTracking``."""
    for key, text in OF_OTHERS.items():
        with pytest.raises(InvalidRequestError, match=text):
            SETTERS[setter](tmp_path / key, key)


def test_internal_properties_can_not_be_set(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="ttl_floor is maintained by the table"):
        Catalog.create_path(tmp_path, "a INT", properties={"ttl_floor": "1"})


def test_an_existing_invalid_key_can_be_unset(tmp_path: Path) -> None:
    """Tables of older releases may have keys that are refused today."""
    Catalog.create_path(tmp_path, "a INT", properties={"team": "x"})
    entry = tmp_path / "_versioned/log" / f"{0:020d}.json"
    entry.write_text(resealed(entry.read_text().replace("team", "ttl_")))
    table = Catalog.load_path(tmp_path)
    assert table.properties == {"ttl_": "x"}
    assert table.alter().unset_property("ttl_").commit() == 1
    assert table.properties == {}


KEYED: dict[str, Callable[[Catalog, str], Any]] = {
    "create_table": lambda catalog, how: catalog.create_table(
        "n.new", "a INT", primary_key=["a"], properties={"row_changes": how}
    ),
    "create_table by property": lambda catalog, how: catalog.create_table(
        "n.new", "a INT", properties={"primary_key": "a", "row_changes": how}
    ),
    "create_table by schema": lambda catalog, how: catalog.create_table(
        "n.new", catalog.load_table("n.keyed").schema, properties={"row_changes": how}
    ),
    "replace_table": lambda catalog, how: catalog.replace_table(
        "n.t", "a INT", primary_key=["a"], properties={"row_changes": how}
    ),
    "alter": lambda catalog, how: (
        catalog.load_table("n.keyed").alter().set_property("row_changes", how).commit()
    ),
    "evolve_to": lambda catalog, how: catalog.load_table("n.keyed").evolve_to(
        f"CREATE TABLE n.keyed (a INT NOT NULL, PRIMARY KEY (a)) TBLPROPERTIES ('row_changes' = '{how}')"
    ),
}


@pytest.mark.parametrize("setter", KEYED)
def test_tables_with_a_primary_key_neither_copy_nor_mark(tmp_path: Path, setter: str) -> None:
    catalog = _catalog(tmp_path)
    catalog.create_table("n.keyed", "a INT", primary_key=["a"])
    tables = {"evolve_to": "n.keyed", "alter": "n.keyed", "replace_table": "n.t"}
    table = tables.get(setter, "n.new")
    for how in ("mark", "copy"):
        with pytest.raises(InvalidRequestError) as caught:
            KEYED[setter](catalog, how)
        for part in (table, f"row_changes can't be '{how}'", "primary key", "set it to 'auto'"):
            assert part in str(caught.value)
        assert "row_changes" not in catalog.load_table("n.keyed").properties
    KEYED[setter](catalog, "auto")
    assert catalog.load_table(table).properties["row_changes"] == "auto"


def test_a_time_index_alone_is_no_primary_key(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path, "ts TIMESTAMP", time_index="ts", properties={"row_changes": "copy"}
    )
    assert table.alter().set_property("row_changes", "mark").commit() == 1


@pytest.mark.parametrize("setter", SETTERS)
def test_row_changes_has_three_values(tmp_path: Path, setter: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        SETTERS[setter](tmp_path, "row_changes")
    table = str(tmp_path / "p") if setter == "create_path" else "n."
    for part in (table, "row_changes is 'x'; it must be 'auto', 'copy' or 'mark'"):
        assert part in str(caught.value)


PARSERS = {
    "target_segment_bytes": target_bytes,
    "schema_mode": is_live,
    "isolation": isolation_of,
    "row_changes": row_changes_of,
    "application_retention": application_retention,
    "pins": refuses_breaks,
    "write.wap.enabled": stages_writes,
    "row_ids": lambda properties: properties.get("row_ids") == "true",
    "append_only": lambda properties: is_append_only(properties, keyed=False),
    "variant_shredding": shreds_variants,
}


def test_a_property_that_is_not_set_has_the_stated_default() -> None:
    described = {p.key for p in PROPERTIES if p.default is not None}
    assert described == {*PARSERS, "distribution_mode", "auto_maintain"}
    for described_property in PROPERTIES:
        parse = PARSERS.get(described_property.key)
        if parse is not None:
            default = described_property.default
            assert parse({described_property.key: default}) == parse({}), default


def test_each_known_property_is_described_once() -> None:
    assert len(KNOWN) == len({*KNOWN}) == len(PROPERTIES)
    assert all(p.type and p.scope and p.does for p in PROPERTIES)
