"""What a commit of files of others accepts, and how it is stored (FORMAT.md, section 6.2)."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from external.files import ROOT, mapped, write
from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    ExternalFile,
    InvalidRequestError,
    Table,
    limits,
)
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.entry import Batch, LastBatch
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.id_map import Held, IdMap, id_map_from_text
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import Atom
from versioned_catalog.write.external import adopted_paths

ROWS = pa.table({"n": [1, 2]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "raw"


@pytest.fixture
def catalog(tmp_path: Path, lake: Path) -> Catalog:
    return Catalog(tmp_path / "warehouse", roots={ROOT: lake})


def files(table: Table, lake: Path, *names: str, **how: Any) -> list[ExternalFile]:
    for name in names:
        write(lake, name, ROWS)
    return [mapped(table, name, **how) for name in names]


def entry(table: Table, version: int) -> dict[str, Any]:
    path = Path(table.location) / f"_versioned/log/{version:020}.json"
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def test_one_map_stands_once_in_an_entry(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    one = files(table, lake, *(f"{i}.parquet" for i in range(5)), constants={"d": "3"})
    write(lake, "other.parquet", pa.table({"N": pa.array([5], pa.int32())}))
    table.append_external([*one, mapped(table, "other.parquet", names={"n": "N"})])
    stored = entry(table, 1)
    assert stored["id_maps"] == [{"1": {}}, {"1": {"name": "N", "type": "int"}}]
    assert [record["id_map"] for record in stored["added"]] == [0, 0, 0, 0, 0, 1]
    assert stored["added"][0]["constants"] == {"2": "3"}
    assert stored["added"][0]["columns"] == {
        "1": {"nulls": 0, "min": "1", "max": "2"},
        "2": {"nulls": 0, "min": "3", "max": "3"},
    }
    assert stored["added"][5]["columns"]["2"] == {"nulls": 1}
    maps = {id(segment.record.id_map) for segment in table.state.segments.tail}
    assert len(maps) == 2


def test_a_map_is_parsed_once(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    table.append_external(files(table, lake, "a.parquet", "b.parquet"))
    reader = Catalog.load_path(table.location)
    one, two = (segment.record.id_map for segment in reader.state.segments.tail)
    assert one is two
    assert one is not None
    assert id_map_from_text(one.text) is one
    assert pickle.loads(pickle.dumps(one)) is one  # tasks of Spark hold it


def test_records_in_a_manifest(
    catalog: Catalog, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    found = files(table, lake, *(f"{i}.parquet" for i in range(5)))
    write(lake, "other.parquet", pa.table({"N": [5]}))
    found.append(mapped(table, "other.parquet", names={"n": "N"}, constants={"d": None}))
    monkeypatch.setattr(limits, "MANIFEST_FROM", 1)
    table.append_external(found)
    stored = entry(table, 1)
    assert "added" not in stored
    assert set(stored["features"]["read"]) == {"external-roots", "id-map", "manifest"}
    manifest = pq.read_table(Path(table.location) / stored["manifest"]["path"])
    assert manifest["id_map"].to_pylist() == ['{"1":{}}'] * 5 + ['{"1":{"name":"N"}}']
    assert all("id_map" not in json.loads(text) for text in manifest["record"].to_pylist())
    reader = Catalog.load_path(table.location, roots={ROOT: lake})
    assert sum(row["n"] for row in reader.scan().to_arrow().to_pylist()) == 20
    assert reader.state.segments.tail == table.state.segments.tail


def test_a_checkpoint_holds_maps_in_a_dictionary(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    names = [f"{i}.parquet" for i in range(20)]
    (one,) = files(table, lake, "0.parquet", constants={"d": "3"})
    found = [replace(one, path=f"root:{ROOT}/{name}") for name in names]
    table.append_external(found)
    table.append(pa.table({"n": [7]}))
    data = state_to_bytes(table.state)
    stored = pq.ParquetFile(pa.BufferReader(data))
    places = [stored.metadata.schema.column(at).path for at in range(stored.metadata.num_columns)]
    chunk = stored.metadata.row_group(0).column(places.index("id_map"))
    assert chunk.has_dictionary_page
    state = state_from_bytes(data, "checkpoint")
    assert state.roots == {ROOT: str(lake)}
    assert state.segments.core["id_map"].to_pylist() == ['{"1":{}}'] * 20 + [None]
    assert state.segments.core["constants"].to_pylist() == ['{"2":"3"}'] * 20 + [None]
    assert pa.types.is_dictionary(state.segments.base["id_map"].type)
    assert state_to_bytes(state) == data


def test_a_checkpoint_without_files_of_others_is_as_before(catalog: Catalog) -> None:
    table = catalog.create_table("t", "n BIGINT")
    table.append(ROWS)
    stored = pq.read_table(pa.BufferReader(state_to_bytes(table.state)))
    assert not {"id_map", "constants"} & {*stored.column_names}


def test_a_table_with_a_primary_key_is_refused(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT NOT NULL", primary_key=["n"])
    with pytest.raises(InvalidRequestError, match=r"t has a primary key.*Copy their rows"):
        table.append_external(files(table, lake, "x.parquet"))
    assert table.version == 0


def test_a_forged_record_in_a_table_with_a_primary_key_is_corrupt(
    catalog: Catalog, lake: Path
) -> None:
    table = catalog.create_table("t", "n BIGINT NOT NULL")
    table.append_external(files(table, lake, "x.parquet"))
    table.log.write_checkpoint(table.state)
    first = Path(table.location) / f"_versioned/log/{0:020}.json"
    value = entry(table, 0)
    value["schema"]["primary_key"] = [1]
    first.write_text(sealed(value))
    (Path(table.location) / "_versioned/last_checkpoint.json").unlink()
    for checkpoint in (Path(table.location) / "_versioned/checkpoint").iterdir():
        checkpoint.unlink()
    with pytest.raises(CorruptTableError, match="has an ID map, but the table has a primary key"):
        Catalog.load_path(table.location)


def test_a_table_with_a_time_index_alone_takes_files(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "ts TIMESTAMP NOT NULL, n BIGINT", time_index="ts")
    rows = pa.table(
        {
            "ts": pa.array([3, 1, 2], pa.timestamp("us", "UTC")),
            "n": [3, 1, 2],
        }
    )
    write(lake, "x.parquet", rows)
    table.append_external([mapped(table, "x.parquet")])
    table.append(rows)
    table.maintenance.compact(strategy="full")
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == [1, 1, 2, 2, 3, 3]


def test_not_null_columns_need_proof(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT NOT NULL, s STRUCT<a: INT NOT NULL>")
    write(lake, "nulls.parquet", pa.table({"n": [1, None]}))
    (good,) = files(table, lake, "x.parquet")
    for file, problem in [
        (mapped(table, "nulls.parquet"), "has 1 nulls in the column n, which is NOT NULL"),
        (replace(good, columns={}), "may hold nulls in the column n"),
        (replace(good, id_map=IdMap({}), columns={}), "has 2 nulls in the column n"),
        (
            replace(good, id_map=IdMap({1: Held(), 2: Held(), 3: Held()})),
            r"may hold nulls in the column s\.a",
        ),
    ]:
        with pytest.raises(InvalidRequestError, match=problem) as caught:
            table.append_external([file])
        assert "drop_not_null" in str(caught.value)
    table.append_external([good])
    table.append_external([replace(good, path=f"root:{ROOT}/empty", rows=0, columns={})])


def test_a_required_column_of_the_file_is_proof(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "l ARRAY<STRUCT<a: INT NOT NULL>>")
    inner = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    schema = pa.schema([pa.field("l", pa.list_(pa.field("element", inner)))])
    rows = pa.table({"l": pa.array([[{"a": 1}]], schema.field("l").type)}, schema=schema)
    write(lake, "x.parquet", rows)
    table.append_external([mapped(table, "x.parquet")])
    assert table.scan().to_arrow().to_pylist() == [{"l": [{"a": 1}]}]


MAPS: list[tuple[dict[int, Held], str]] = [
    ({9: Held()}, "names the column ID 9"),
    ({4: Held()}, "a nested column without the one around it"),
    ({3: Held()}, "does not say what is inside the column s"),
    ({5: Held()}, "does not say what is inside the column l"),
    ({1: Held("x"), 2: Held("x")}, "the same name for two columns"),
    ({1: Held("b"), 2: Held()}, "the same name for two columns"),
    ({1: Held(type=Atom.STRING)}, "can't be read as BIGINT"),
    ({2: Held(type=Atom.LONG)}, "can't be read as STRING"),
    ({1: Held(form=Form.UINT64)}, "has the form uint64 for the column a of type BIGINT"),
    ({1: Held(form=Form.LIST)}, "has the form list for the column a"),
    ({3: Held(type=Atom.INT), 4: Held()}, "does not say what is inside the column s"),
]


@pytest.mark.parametrize(("held", "problem"), MAPS)
def test_a_map_must_fit_the_schema(
    catalog: Catalog, lake: Path, held: dict[int, Held], problem: str
) -> None:
    table = catalog.create_table("t", "a BIGINT, b STRING, s STRUCT<a: INT>, l ARRAY<INT>")
    file = ExternalFile(f"root:{ROOT}/x", 1, 1, 0, IdMap(held))
    with pytest.raises(InvalidRequestError, match=problem):
        table.append_external([file])


@pytest.mark.parametrize(
    ("constants", "problem"),
    [
        ({1: "1"}, "a constant for a column that it holds"),
        ({2: "x"}, "the constant of the column d: 'x' is stored as a value of INT"),
        ({3: "x"}, "no top-level column of a plain type"),
        ({4: "1"}, "no top-level column of a plain type"),
        ({9: "1"}, "no top-level column of a plain type"),
    ],
)
def test_constants_must_fit_the_schema(
    catalog: Catalog, lake: Path, constants: dict[int, str], problem: str
) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT, s STRUCT<a: INT>")
    (file,) = files(table, lake, "x.parquet")
    with pytest.raises(InvalidRequestError, match=problem):
        table.append_external([replace(file, constants=constants)])


def test_partitions_follow_from_constants_and_bounds(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table(
        "t", "n BIGINT, d DATE, ts TIMESTAMP", partitioned_by=["d", "days(ts)", "bucket(4, n)"]
    )
    hour = 3_600_000_000
    times = pa.array([24 * hour, 30 * hour], pa.timestamp("us", "UTC"))
    write(lake, "x.parquet", pa.table({"n": [5, 5], "ts": times}))
    table.append_external([mapped(table, "x.parquet", constants={"d": "20000"})])
    (segment,) = table.state.segments.tail
    table.append(table.scan().to_arrow())
    own = table.state.segments.tail[1].record.partition
    assert segment.record.partition == own
    assert own[:2] == ("20000", "1")
    write(lake, "y.parquet", pa.table({"n": [5, 6], "ts": times}))
    file = mapped(table, "y.parquet", constants={"d": None})
    with pytest.raises(InvalidRequestError, match="are not known to be in one partition"):
        table.append_external([file])
    table.append_external([replace(file, partition=(None, "1", "0"))])
    table.overwrite_partitions(
        table.scan(filters=[("d", "=", "2024-10-04")]).to_arrow().slice(0, 0)
    )
    assert table.scan(filters=[("d", "is null")]).report().pruned == 2


def test_a_file_is_adopted_once_at_a_time(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    found = files(table, lake, "00000-0-x.parquet")
    table.append_external(found)
    with pytest.raises(AlreadyExistsError, match="1 of the files are in the table already"):
        table.append_external(found)
    with pytest.raises(AlreadyExistsError, match="committed twice in one commit"):
        table.append_external([*files(table, lake, "y.parquet")] * 2)
    table.remove_external([found[0].path])
    assert table.scan().to_arrow().num_rows == 0
    table.append_external(found)  # its owner has restored it
    assert table.count() == 2


def test_compaction_copies_files_of_others_only_when_asked(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT", properties={"auto_compact": "2"})
    table.append_external(files(table, lake, "a.parquet", "b.parquet", "c.parquet"))
    for _ in range(4):
        table.append(ROWS)
    table.maintenance.compact()
    external = [path for path in table.refresh().state.segments.paths if path.startswith("root:")]
    assert external == ["root:lake/a.parquet", "root:lake/b.parquet", "root:lake/c.parquet"]
    assert len(table.state.segments.paths) < 7
    table.maintenance.compact(paths=external[:2])
    assert [p for p in table.state.segments.paths if p.startswith("root:")] == external[2:]
    assert table.count() == 14


def test_the_files_that_a_table_had_are_known(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    for name in ("a", "b", "c"):
        table.append_external(files(table, lake, f"{name}.parquet"))
    every = {f"root:lake/{name}.parquet" for name in "abc"}
    table.remove_external(["root:lake/b.parquet"])
    table.delete([("n", "=", 1)])
    assert adopted_paths(table.log, table.state) == every
    table.maintenance.expire(dt.timedelta(0), keep_last=3, dry_run=False, force=True)
    assert adopted_paths(table.log, table.refresh().state) == every
    table.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    assert adopted_paths(table.log, table.refresh().state) == frozenset()


def test_a_rollback_to_files_whose_entries_are_expired(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    table.append_external(files(table, lake, "a.parquet", constants={"d": "3"}))
    table.append(ROWS)
    table.overwrite(ROWS.slice(0, 1))
    table.maintenance.expire(dt.timedelta(0), keep_last=2, dry_run=False, force=True)
    assert table.refresh().state.floor == 2
    table.rollback(2)
    found = Catalog(catalog._store.url, roots={ROOT: lake}).load_table("t").scan().to_arrow()
    expected = [{"n": n, "d": d} for d in (3, None) for n in (1, 2)]
    assert sorted(found.to_pylist(), key=str) == sorted(expected, key=str)


def test_a_batch_is_committed_once(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    batch = Batch("import of lake", 1)
    table.append_external(files(table, lake, "a.parquet"), batch=batch)
    with pytest.raises(AlreadyExistsError, match="batch 1 of import of lake"):
        table.append_external(files(table, lake, "b.parquet"), batch=batch)
    table.transaction().commit_external(
        files(table, lake, "b.parquet"),
        removed=["root:lake/a.parquet"],
        batch=Batch("import of lake", 2),
    )
    assert table.state.segments.paths == ["root:lake/b.parquet"]
    assert table.state.applications == {"import of lake": LastBatch(2)}


def test_files_and_removals_are_one_commit(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    table.append_external(files(table, lake, "a.parquet", "b.parquet"))
    other = Catalog(catalog._store.url, roots={ROOT: lake}).load_table("t")
    other.remove_external(["root:lake/b.parquet"])
    with pytest.raises(CommitConflictError):
        table.transaction().commit_external((), removed=["root:lake/b.parquet"])
    with pytest.raises(InvalidRequestError, match="is not a segment of version"):
        other.remove_external(["root:lake/c.parquet"])


def test_a_changed_schema_asks_for_new_maps(catalog: Catalog, lake: Path) -> None:
    """A map without a type means that of its schema version, which another one may have widened."""
    table = catalog.create_table("t", "n INT")
    write(lake, "x.parquet", pa.table({"n": pa.array([1], pa.int32())}))
    file = mapped(table, "x.parquet")
    other = catalog.load_table("t")
    other.alter().change_type("n", "BIGINT").commit()
    with pytest.raises(
        CommitConflictError, match="mapped to schema version 0, and the table has 1"
    ):
        other.append_external([file])
    assert table.append_external([file]) == 2  # as planned before the change
    assert table.refresh().scan().to_arrow().to_pylist() == [{"n": 1}]


def test_a_hidden_column_has_its_write_default(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, old STRING DEFAULT 'x'")
    table.pin_schema("job")
    table.alter().drop_column("old").commit()
    table.append_external(files(table, lake, "x.parquet"))
    seen = table.seen_as("job").scan().to_arrow().to_pylist()
    assert seen == [{"n": n, "old": "x"} for n in (1, 2)]


FORGED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"id_map": 1}, {}, "has the ID map 1, which its entry lacks"),
    ({"id_map": -1}, {}, "has the ID map -1"),
    ({"id_map": None}, {}, "needs an ID map"),
    ({"id_map": {"1": {}}}, {}, "wrong type"),
    ({"constants": {"1": "5"}}, {}, "a constant for a column that it holds"),
    ({"constants": {"x": "5"}}, {}, "is not a column ID"),
    ({"constants": {"2": 5}}, {}, "neither text nor null"),
    ({"constants": []}, {}, "wrong type"),
    ({"ops": {"0": 1}}, {}, "is one of a keyed table"),
    ({}, {"id_maps": [[]]}, "an ID map is an object"),
    ({}, {"id_maps": [{"x": {}}]}, "names 'x', which is not a column ID"),
    ({}, {"id_maps": [{"1": []}]}, "an object was expected"),
    ({}, {"id_maps": [{"1": {"form": "roman"}}]}, "the form 'roman', which this library does not"),
    ({}, {"id_maps": [{"1": {"type": "roman"}}]}, "is not a type"),
    ({}, {"roots": {"lake": 1}}, "not text"),
    ({}, {"added": ["x"]}, "a segment record must be an object"),
]


@pytest.mark.parametrize(("record", "members", "problem"), FORGED)
def test_a_forged_entry_is_corrupt(
    catalog: Catalog, lake: Path, record: dict[str, Any], members: dict[str, Any], problem: str
) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    table.append_external(files(table, lake, "x.parquet"))
    path = Path(table.location) / f"_versioned/log/{1:020}.json"
    value = entry(table, 1) | members
    if record:
        value["added"][0] |= record
    path.write_text(sealed(value))
    with pytest.raises(CorruptTableError, match=problem):
        Catalog.load_path(table.location)


@pytest.mark.parametrize(
    ("held", "constants", "problem"),
    [
        ({"9": {}}, {}, "names the column ID 9"),
        ({"1": {"type": "string"}}, {}, "can't be read as BIGINT"),
        ({}, {"3": "1"}, "which can't have one"),
        ({}, {"2": "x"}, "'x' is stored as a value of INT"),
    ],
)
def test_forged_maps_and_constants_are_corrupt_when_they_are_used(
    catalog: Catalog,
    lake: Path,
    held: dict[str, Any],
    constants: dict[str, str],
    problem: str,
) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT, s STRUCT<a: INT>")
    table.append_external(files(table, lake, "x.parquet"))
    path = Path(table.location) / f"_versioned/log/{1:020}.json"
    value = entry(table, 1) | {"id_maps": [held or {"1": {}}]}
    value["added"][0]["constants"] = constants
    path.write_text(sealed(value))
    reader = Catalog.load_path(table.location, roots={ROOT: lake})
    with pytest.raises(CorruptTableError, match=problem):
        reader.scan().to_arrow()


def test_statistics_are_optional(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, d INT")
    write(lake, "x.parquet", ROWS)
    table.append_external([mapped(table, "x.parquet", statistics=False, constants={"d": "1"})])
    assert table.scan(filters=[("n", "=", 9)]).report().pruned == 0
    assert table.scan(filters=[("n", "=", 1), ("d", "=", 1)]).count() == 1
    assert table.scan(filters=[("d", "=", 2)]).report().pruned == 1


def test_false_statistics_are_found(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    (file,) = files(table, lake, "x.parquet")
    loose = {1: ColumnStats(0, None, "0", "9", True, True)}
    table.append_external([replace(file, columns=loose)])
    assert table.maintenance.verify(deep=True).findings == ()
    table.remove_external([file.path])
    table.append_external([replace(file, columns={1: ColumnStats(0, None, "2", "2")})])
    (finding,) = table.maintenance.verify(deep=True).findings
    assert "the log says min of column n is 2, but the file says 1" in finding.problem
