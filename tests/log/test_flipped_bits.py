"""A bit that flips in metadata is an error that names the file, and never another answer."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import unsealed
from versioned_catalog import Catalog, CorruptTableError, Table, VersionedError
from versioned_catalog import limits as known_limits


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "n": [10 * one for one in ids]})


def shown(root: Path) -> Any:
    """Everything that a reader of the warehouse can see: names, rows, properties, history, tags."""
    catalog = Catalog(root)
    found: dict[str, Any] = {}
    for space in catalog.list_namespaces():
        found[space] = catalog.namespace_properties(space)
        for name in catalog.list_tables(space):
            table = catalog.load_table((space, name))
            found[f"{space}.{name}"] = _table(table)
        for name in catalog.list_views(space):
            found[f"{space}.{name}"] = repr(catalog.load_view((space, name)))
    return found


def _table(table: Table) -> Any:
    state = table.state
    versions = range(max(state.floor, 0), table.version + 1)
    return {
        "state": (state.table_uuid, state.version, state.commit_id, dict(state.properties)),
        "sinks": (dict(state.applications), dict(state.consumers), state.fence, state.floor),
        "tags": {tag: table.as_of(tag).scan().to_arrow().to_pylist() for tag in table.tags},
        "pins": {label: table.seen_as(label).scan().to_arrow().to_pylist() for label in state.pins},
        "rows": [table.as_of(version).scan().to_arrow().to_pylist() for version in versions],
        "pruned": table.scan(filters=[("n", ">", 15)]).to_arrow().to_pylist(),
        "schemas": [repr(schema) for schema in state.own_schemas],
    }


def fill(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warehouse with a small table of each kind of metadata: checkpoints, kept states, a manifest."""
    catalog = Catalog(root)
    catalog.create_namespace("n", properties={"owner": "ops"})
    table = catalog.create_table("n.t", "id BIGINT, n BIGINT, s STRING DEFAULT 'x'")
    table.append(rows(1, 2))
    table.set_tag("first", 1)
    table.delete([("id", "=", 1)])
    table.pin_schema("job")
    table.alter().drop_column("s").set_property("k", "v").commit()
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    table.append(rows(3))
    table.log.write_checkpoint(table.state)
    monkeypatch.setattr(known_limits, "MANIFEST_FROM", 1)
    table.append(rows(4))
    monkeypatch.undo()
    catalog.create_view("n.v", "SELECT id FROM t", "id BIGINT", reads={"n.t": ["id"]})
    catalog._names.log.write_checkpoint(catalog._names.state())
    catalog.create_table("n.u", "id BIGINT, n BIGINT")


def metadata(root: Path) -> list[Path]:
    """All files of metadata but the hints, of which nothing depends."""
    found = [path for path in root.rglob("_versioned/*/*") if path.is_file()]
    return sorted(path for path in found if path.name != "last_checkpoint.json")


def one_of_each(table: Path) -> list[Path]:
    """A stub, and the last file of each folder."""
    files = {path.parent.name: path for path in metadata(table)}
    return [table / "_versioned/log" / f"{0:020d}.json", *files.values()]


def flips(path: Path, chosen: random.Random, most: int | None) -> Iterator[bytes]:
    data = path.read_bytes()
    bits: Iterable[int] = range(8 * len(data))
    if most is not None and 8 * len(data) > most:
        bits = chosen.sample(range(8 * len(data)), most)
    for bit in bits:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def check_flips(root: Path, files: Iterable[Path], most: int | None) -> None:
    chosen, expected = random.Random(7), shown(root)
    for path in files:
        whole, errors = path.read_bytes(), 0
        for flipped in flips(path, chosen, most):
            path.write_bytes(flipped)
            try:
                assert shown(root) == expected, path
            except VersionedError as error:
                errors += 1
                assert str(path.relative_to(root)) in str(error), (path, str(error))
        path.write_bytes(whole)
        if path.parent.name == "log" and path == max(path.parent.iterdir()):
            assert errors, f"no flip of {path} was noticed"


@pytest.mark.thorough
def test_any_flipped_bit_is_an_error_or_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, monkeypatch)
    kinds = {f"{path.parent.name}{path.suffix}" for path in metadata(tmp_path)}
    wanted = {"log.json", "checkpoint.json", "checkpoint.parquet", "kept.parquet"}
    assert kinds == wanted | {"manifest.parquet"}
    check_flips(tmp_path, metadata(tmp_path), 8)


def test_every_bit_of_an_entry_counts(tmp_path: Path) -> None:
    """Decoded alone, so that all bits can be tried."""
    from versioned_catalog.log.entry_json import commit_from_bytes

    table = Catalog.create_path(tmp_path, "id BIGINT, n BIGINT")
    table.append(rows(1))
    table.overwrite(rows(2))
    for path in sorted((tmp_path / "_versioned/log").iterdir()):
        for flipped in flips(path, random.Random(), None):
            with pytest.raises(CorruptTableError, match=path.name):
                commit_from_bytes(flipped, path.name)


def test_every_bit_of_a_checkpoint_counts_but_those_of_its_checksum(tmp_path: Path) -> None:
    from versioned_catalog.log.checkpoint import state_from_bytes

    table = Catalog.create_path(tmp_path, "id BIGINT")
    table.append(pa.table({"id": [1]}))
    table.log.write_checkpoint(table.state)
    (path,) = (tmp_path / "_versioned/checkpoint").iterdir()
    for flipped in flips(path, random.Random(3), 3000):
        with pytest.raises(VersionedError, match=r"\bx\b"):
            state_from_bytes(flipped, "x")


def test_a_deep_verification_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, monkeypatch)
    table = tmp_path / "n/t"
    assert Catalog.verify_path(table, deep=True, every_version=True).findings == ()
    for path in one_of_each(table):
        whole = path.read_bytes()
        (flipped,) = flips(path, random.Random(5), 1)
        path.write_bytes(flipped)
        findings = Catalog.verify_path(table, deep=True, every_version=True).findings
        assert str(path.relative_to(table)) in str(findings), (path, findings)
        path.write_bytes(whole)


def test_a_flipped_bit_of_a_segment_is_found(tmp_path: Path) -> None:
    Catalog.create_path(tmp_path, "id BIGINT, n BIGINT").append(rows(1, 2, 3))
    (path,) = (tmp_path / "data").iterdir()
    for flipped in flips(path, random.Random(5), 30):
        path.write_bytes(flipped)
        findings = Catalog.verify_path(tmp_path, deep=True).findings
        assert f"data/{path.name}" in str(findings)


def test_a_flipped_bit_in_a_page_is_an_error_for_a_reader(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "s STRING")
    table.append(pa.table({"s": [f"{one:05d}{one * one:09d}" for one in range(500)]}))
    rows = table.scan().to_arrow()
    (path,) = (tmp_path / "data").iterdir()
    whole = path.read_bytes()
    chunk = pq.read_metadata(path).row_group(0).column(0)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    places = range(start, start + chunk.total_compressed_size, 17)  # some flips survive Zstandard
    for at, place in enumerate(places):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            found = table.scan().to_arrow()
        except CorruptTableError as error:
            assert path.name in str(error)
        else:
            assert found.equals(rows), place  # a bit of a page's header that nobody reads


# Tables and warehouses of before.


def make_old(root: Path) -> None:
    """Take the checksums out, as an earlier version of the library would have written the files."""
    for path in root.rglob("_versioned/*/*.json"):
        path.write_text(json.dumps(unsealed(json.loads(path.read_text()))))
    for folder in ("checkpoint", "kept"):
        for path in root.rglob(f"_versioned/{folder}/*.parquet"):
            path.unlink()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id BIGINT, n BIGINT")
    table.append(rows(1, 2))
    table.overwrite(rows(3))
    make_old(tmp_path)
    return tmp_path


def test_an_old_table_is_read_and_gets_checksums_but_not_the_feature(old: Path) -> None:
    catalog = Catalog(old)
    table = catalog.load_table("n.t")
    assert table.scan().to_arrow().to_pylist() == [{"id": 3, "n": 30}]
    table.append(rows(4))
    table.log.write_checkpoint(table.state)
    catalog.create_namespace("m")
    for folder in (old, old / "n/t"):
        entry = json.loads(max((folder / "_versioned/log").iterdir()).read_text())
        assert list(entry)[-1] == "checksum"
        assert entry["features"] == {"read": [], "write": []}
    assert Catalog(old).load_table("n.t").count() == 2
    replaced = catalog.replace_table("n.t", "a INT")
    assert replaced.state.features.write == {"checksums"}


def test_a_flipped_bit_in_a_name_of_an_old_entry_is_an_error(old: Path) -> None:
    """Without a checksum, at least no member is lost."""
    path = sorted((old / "n/t/_versioned/log").iterdir())[2]
    text = path.read_text()
    for name in ("removed", "added", "columns", "checksum", "nulls", "max", "features"):
        assert f'"{name}"' in text
        path.write_text(text.replace(f'"{name}"', f'"{chr(ord(name[0]) ^ 1)}{name[1:]}"', 1))
        with pytest.raises(CorruptTableError, match=path.name):
            Catalog(old).load_table("n.t").scan()


def test_a_table_that_has_checksums_needs_them(old: Path, tmp_path_factory: Any) -> None:
    root = tmp_path_factory.mktemp("new")
    table = Catalog.create_path(root / "t", "id BIGINT, n BIGINT")
    table.append(rows(1))
    table.append(rows(2))
    path = max((root / "t/_versioned/log").iterdir())
    entry = json.loads(path.read_text())
    entry.pop("checksum")
    path.write_text(json.dumps(entry))
    with pytest.raises(CorruptTableError, match="lacks the checksum that its table needs"):
        Catalog.load_path(root / "t")
    path.write_text(json.dumps(unsealed(entry)))
    with pytest.raises(CorruptTableError, match="lacks the feature checksums"):
        Catalog.load_path(root / "t")
    shutil.copy(sorted(path.parent.iterdir())[1], path)
    with pytest.raises(
        CorruptTableError, match="must hold version 2, but holds the entry of version 1"
    ):
        Catalog.load_path(root / "t")
