"""Keys of table properties: misspelled ones are refused, and a user's own are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealing import resealed
from versioned_catalog import Catalog, InvalidRequestError

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
    "delta.appendOnly": "belongs to Delta.*can't forbid UPDATE and DELETE",
    "delta.constraints.positive": "CHECK constraints are not supported",
    "delta.somethingNew": "belongs to Delta and has no effect here; leave it out$",
    "write.delete.mode": "belongs to Iceberg.*merged on read",
    "write.target-file-size-bytes": "set target_segment_bytes",
    "write.wap.enabled": "no branches",
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
    """They would promise what no table does here, such as ``delta.appendOnly``."""
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
