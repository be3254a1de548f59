"""Deltas of checkpoints say the same as the log, whatever happened to the files around them."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from faults.store import Fault, FaultyStore, Plan
from pairwise import most_at_night
from versioned_catalog import Catalog, CorruptTableError, Table
from versioned_catalog.limits import CHECKPOINT_BYTES
from versioned_catalog.log import commit_log, deltas, reader, state_files
from versioned_catalog.log.bounded_files import BoundedFile, Hint
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.segment_table import CORE
from versioned_catalog.log.state import TableState
from versioned_catalog.log.state_files import file_to_bytes, may_be_unsafe
from versioned_catalog.log.stored_segments import Stored
from versioned_catalog.maintain.log_check import differences
from versioned_catalog.read.selectivity import matching_rows
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import UNSAFE
from versioned_catalog.table import TableHandle

LOG = "_versioned"


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with_small_files(monkeypatch)


def with_small_files(patch: pytest.MonkeyPatch) -> None:
    """Write deltas from eight segments on, after each second commit."""
    patch.setattr(deltas, "LEAST", 8)
    patch.setattr(deltas, "RATIO", 4)
    patch.setattr(commit_log, "LARGE", 1)
    patch.setattr(reader, "MANY_ENTRIES", 2)


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int32()), "s": [f"row {n}" for n in numbers]})


def create(path: Path, segments: int = 8) -> Table:
    """A table with a checkpoint of some segments, one row in each."""
    table = Catalog.create_path(path, "id INT, s STRING", properties={"auto_maintain": "off"})
    for number in range(segments):
        table.append(rows(number))
    table.log.write_checkpoint(table.state)
    return Catalog.load_path(path)


def files(path: Path, folder: str) -> list[int]:
    there = path / LOG / folder
    return sorted(int(file.stem) for file in there.iterdir()) if there.exists() else []


def hint(path: Path) -> dict[str, object]:
    value: dict[str, object] = json.loads((path / LOG / "last_checkpoint.json").read_bytes())
    return value


def by_entries(path: Path, scratch: Path) -> TableState:
    """The newest state, from the entries alone."""
    shutil.copytree(path, scratch)
    for folder in ("checkpoint", "delta"):
        shutil.rmtree(scratch / LOG / folder, ignore_errors=True)
    (scratch / LOG / "last_checkpoint.json").unlink(missing_ok=True)
    return Catalog.load_path(scratch).state


def entries_read(path: Path) -> int:
    return table_log(LocalStore(path)).load().entries


def test_a_delta_follows_a_large_checkpoint(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.append(rows(8))
    assert files(tmp_path / "t", "delta") == []
    table.append(rows(9))
    assert files(tmp_path / "t", "delta") == [10]
    assert hint(tmp_path / "t") == {"version": 8, "deltas": [10]}
    stored = pq.read_table(tmp_path / "t" / LOG / f"delta/{10:020d}.parquet")
    assert stored["2.min"].to_pylist() == ["row 8", "row 9"]
    assert entries_read(tmp_path / "t") == 0
    assert Catalog.load_path(tmp_path / "t").scan().to_arrow()["id"].to_pylist() == list(range(10))


def test_small_tables_have_whole_checkpoints_only(tmp_path: Path) -> None:
    table = create(tmp_path / "t", 3)
    for number in range(4):
        table.append(rows(number))
    assert files(tmp_path / "t", "checkpoint")[-1] == 7
    assert files(tmp_path / "t", "delta") == []


def test_a_delta_takes_in_those_before_it_until_a_checkpoint_is_due(tmp_path: Path) -> None:
    """With a ratio of 4, 40 segments allow for 10 newer ones, and a delta of 8 for one of 2 after it."""
    table = create(tmp_path / "t", 40)
    chains = []
    for number in range(14):
        table.append(rows(number))
        chains.append((hint(tmp_path / "t")["version"], hint(tmp_path / "t").get("deltas", [])))
    assert chains[1::2] == [
        (40, [42]),
        (40, [44]),
        (40, [46]),
        (40, [48]),
        (40, [48, 50]),
        (52, []),
        (52, [54]),
    ]
    assert set(files(tmp_path / "t", "delta")) <= {48, 50, 54}


def test_a_delta_without_rows_has_the_types_of_now(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.alter().change_type("id", "BIGINT").commit()
    table.alter().add_column("c", "INT", default=7).commit()
    assert (hint(tmp_path / "t")["deltas"], entries_read(tmp_path / "t")) == ([10], 0)
    loaded = Catalog.load_path(tmp_path / "t")
    assert loaded.scan(filters=[("id", ">=", 6)]).report().pruned == 6
    assert loaded.scan(filters=[("c", "=", 7)]).count() == 8
    table.alter().set_comment("c", "one").commit()
    table.append(rows(8).append_column("c", pa.array([1], pa.int32())))
    assert hint(tmp_path / "t") == {"version": 8, "deltas": [12]}, "none refers to an empty one"
    assert entries_read(tmp_path / "t") == 0
    assert Catalog.load_path(tmp_path / "t").scan(filters=[("id", ">=", 8)]).report().pruned == 8


@pytest.mark.parametrize("deltas_", [[1] * 17, ["10"], [True], [-1], {"10": 10}], ids=str)
def test_invalid_deltas_of_hints_are_passed_over(deltas_: object, tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.append(rows(8))
    table.append(rows(9))
    path = tmp_path / "t" / LOG / "last_checkpoint.json"
    path.write_text(json.dumps({"version": 8, "deltas": deltas_}))
    assert Catalog.load_path(tmp_path / "t").count() == 10


def test_a_rollback_that_adds_a_segment_again_leads_to_a_checkpoint(tmp_path: Path) -> None:
    table = create(tmp_path / "t", 40)
    table.delete([("id", "=", 3)])
    table.append(rows(40))
    stored = pq.read_schema(tmp_path / "t" / LOG / f"delta/{42:020d}.parquet")
    assert json.loads((stored.metadata or {})[b"versioned.state"])["removed"] == [3]
    table = Catalog.load_path(tmp_path / "t")
    assert table.scan().to_arrow()["id"].to_pylist() == [*range(3), *range(4, 41)]
    table.rollback(40)
    table.append(rows(41))
    assert hint(tmp_path / "t") == {"version": 44}
    assert entries_read(tmp_path / "t") == 0
    ids = Catalog.load_path(tmp_path / "t").scan().to_arrow()["id"].to_pylist()
    assert sorted(ids) == [*range(40), 41]


def test_an_earlier_library_reads_past_deltas(tmp_path: Path) -> None:
    """It knows nothing of the member ``deltas`` nor of the folder, and reads the entries instead."""
    table = create(tmp_path / "t")
    table.append(rows(8))
    table.append(rows(9))
    (tmp_path / "t" / LOG / "last_checkpoint.json").write_text('{"version": 8}')
    shutil.rmtree(tmp_path / "t" / LOG / "delta")
    assert entries_read(tmp_path / "t") == 2
    assert Catalog.load_path(tmp_path / "t").count() == 10


def test_earlier_versions_start_at_earlier_files(tmp_path: Path) -> None:
    table = create(tmp_path / "t", 40)
    for number in range(10):
        table.append(rows(number))
    log = table_log(LocalStore(tmp_path / "t"))
    assert [log.load(version).entries for version in (40, 45, 48, 49, 50)] == [0, 5, 0, 1, 0]
    assert [table.at(version).segments.count for version in (39, 45, 49)] == [39, 45, 49]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_random_histories(seed: int, tmp_path: Path) -> None:
    draw = random.Random(os.environ.get("VERSIONED_SEED", seed))
    path = tmp_path / "t"
    first = create(path, 30)
    first.alter().set_property("row_changes", draw.choice(["mark", "copy", "auto"])).commit()
    handles = [first, Catalog.load_path(path)]
    columns = iter(range(1000))
    written = set()
    for step in range(24):
        table = draw.choice(handles).refresh()
        schema = table.schema
        match draw.randrange(8):
            case 0:
                table.delete([("id", "=", draw.randrange(40))])
            case 1:
                table.update({"s": f"changed {step}"}, [("id", "<", draw.randrange(4))])
            case 2:
                added = f"c{next(columns)}"
                table.alter().add_column(added, "INT", default=step).commit()
            case 3 if len(schema.columns) > 2:
                table.alter().drop_column(schema.columns[-1].name).commit()
            case 4 if draw.random() < 0.3:
                table.rollback(table.version - 1)
            case 5 if draw.random() < 0.3 and str(schema.columns[0].type) != "BIGINT":
                table.alter().change_type("id", "BIGINT").commit()
            case 6 if draw.random() < 0.2:
                table.overwrite_where(rows(50 + step), [("id", "<", 10)])
            case _:
                table.append(rows(40 + step))
        written.add(len(files(path, "delta")))
        if step % 3 == 2:
            loaded = Catalog.load_path(path)
            expected = by_entries(path, tmp_path / f"scratch{step}")
            assert list(differences(expected, loaded.state)) == [], f"seed {seed}, step {step}"
            ours, theirs = (
                Table(table.log, reader.LoadedState(state), "t")
                for state in (loaded.state, expected)
            )
            for filters in ([("id", "<", 20)], [("id", ">=", 45), ("s", ">", "row 5")], None):
                paths = [
                    [task.path for task, _ in one.scan(filters=filters).tasks()]  # type: ignore[union-attr]
                    for one in (ours, theirs)
                ]
                assert paths[0] == paths[1]
            assert ours.scan().to_arrow().equals(theirs.scan().to_arrow())
    assert written - {0}, "the history wrote deltas"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a checkpoint at 40 and deltas at 48 and 50."""
    path = tmp_path_factory.mktemp("deltas") / "t"
    with pytest.MonkeyPatch.context() as patch:
        with_small_files(patch)
        table = create(path, 40)
        for number in range(10):
            table.append(rows(number))
    assert hint(path) == {"version": 40, "deltas": [48, 50]}
    return path


@pytest.fixture
def with_deltas(written: Path, tmp_path: Path) -> Path:
    """A copy of the table, for one test."""
    shutil.copytree(written, tmp_path / "t")
    return tmp_path / "t"


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "huge", "another"])
@pytest.mark.parametrize(
    "file", most_at_night({"delta/48"}, ["checkpoint/40", "delta/48", "delta/50"])
)
@pytest.mark.usefixtures("with_deltas")
def test_damaged_files_are_passed_over(file: str, damage: str, tmp_path: Path) -> None:
    folder, version = file.split("/")
    path = tmp_path / "t" / LOG / folder / f"{int(version):020d}.parquet"
    data = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(data[:-9])
        case "flipped":
            path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
        case "huge":
            os.truncate(path, CHECKPOINT_BYTES + 1)
        case "another":
            other = create(tmp_path / "other", 40)
            source = {"checkpoint": 40, "delta": 42}[folder]
            other.append(rows(1)), other.append(rows(2))
            moved = tmp_path / "other" / LOG / folder / f"{source:020d}.parquet"
            path.write_bytes(moved.read_bytes())
    if (file, damage) == ("checkpoint/40", "another"):
        with pytest.raises(CorruptTableError, match="is of another table"):
            entries_read(tmp_path / "t")
        return
    # The checkpoint before the one at 40 is that at 37.
    assert (
        entries_read(tmp_path / "t") == {"checkpoint/40": 13, "delta/48": 10, "delta/50": 2}[file]
    )
    assert Catalog.load_path(tmp_path / "t").count() == 50


def edited(path: Path, **members: object) -> None:
    """Rewrite the JSON of the delta at 50, with a right checksum."""
    file = path / LOG / "delta" / f"{50:020d}.parquet"
    table = pq.read_table(file)
    value = json.loads((table.schema.metadata or {})[b"versioned.state"]) | members
    rows_ = table.replace_schema_metadata(None)
    for field in CORE:
        if field.name not in rows_.column_names:
            rows_ = rows_.append_column(field, pa.nulls(rows_.num_rows, field.type))
    file.write_bytes(file_to_bytes(rows_, value))


@pytest.mark.usefixtures("with_deltas")
def test_deltas_have_checksums(tmp_path: Path) -> None:
    file = tmp_path / "t" / LOG / "delta" / f"{50:020d}.parquet"
    table = pq.read_table(file)
    value = json.loads((table.schema.metadata or {})[b"versioned.state"])
    value["features"] = {"read": [], "write": []}
    plain = table.replace_schema_metadata(None)
    with pq.ParquetWriter(file, plain.schema, store_schema=False) as writer:
        writer.write_table(plain)
        writer.add_key_value_metadata({"versioned.state": json.dumps(value)})
    with pytest.raises(CorruptTableError, match="lacks its checksum"):
        table_log(LocalStore(tmp_path / "t")).delta(50, Hint(40, (48, 50)))
    assert entries_read(tmp_path / "t") == 2


FILE = {"version": 40, "delta": False, "checksum": "crc32:00000000", "rows": 40}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"removed": [3, 2]}, "not a list of ascending row numbers"),
        ({"removed": [48]}, "not a list of ascending row numbers"),
        ({"removed": [True]}, "not a list of ascending row numbers"),
        ({"marks": {"48": None}}, "names a row that no file has"),
        ({"marks": {"-1": None}}, "names a row that no file has"),
        ({"marks": {"1": 7}}, "has a mark that is not a text"),
        ({"marks": {"1": "{}"}}, "rows"),
        ({"files": []}, "not a list of some files"),
        ({"files": [7]}, "an object was expected, not '7'"),
        ({"files": [FILE | {"more": 1}]}, "the member 'more' is unknown"),
        ({"files": [FILE]}, "another _versioned/checkpoint"),
        ({"files": [FILE, FILE]}, "a checkpoint followed by deltas"),
        ({"files": [FILE | {"delta": True}]}, "a checkpoint followed by deltas"),
        ({"files": [FILE | {"version": 50}]}, "in the order of their versions"),
        ({"files": [FILE | {"version": -1}]}, "in the order of their versions"),
        ({"files": [FILE | {"rows": 2**60}]}, "out of range"),
        ({"files": [FILE | {"version": 39}]}, "is missing"),
        ({"statistics": [1]}, "lists of statistics"),
        ({"version": 49}, "state at another version"),
        ({"unheard": 1}, "unheard"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("with_deltas")
def test_invalid_deltas_are_refused(
    members: dict[str, object], problem: str, tmp_path: Path
) -> None:
    edited(tmp_path / "t", **members)
    log = table_log(LocalStore(tmp_path / "t"))
    with pytest.raises(CorruptTableError, match=problem):
        log.delta(50, Hint(40, (48, 50)))
    assert log.load().entries == 2, "it is passed over"
    assert Catalog.load_path(tmp_path / "t").count() == 50


@pytest.mark.thorough
@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
def test_a_writer_may_fail_at_each_call(fault: Fault, tmp_path: Path) -> None:
    """Whatever fails after the entry is put, the commit is there, and the next writer goes on."""
    table = create(tmp_path / "t", 80)
    for number in range(13):
        table.append(rows(number))
    recorded = Plan()

    def write(path: Path, plan: Plan) -> None:
        log = table_log(FaultyStore(LocalStore(path), plan))
        Table._of(TableHandle(log, log.load(), "t")).append(rows(13))

    shutil.copytree(tmp_path / "t", tmp_path / "whole")
    write(tmp_path / "whole", recorded)
    written = [call for call in recorded.calls if "delta" in call or "last_checkpoint" in call]
    assert "overwrite _versioned/delta/N.parquet" in written
    assert "delete _versioned/delta/N.parquet" in written
    put = next(at for at, call in enumerate(recorded.calls) if call.startswith("put"))
    for at in range(put + 1, len(recorded.calls)):
        copy = tmp_path / f"copy{at}"
        shutil.copytree(tmp_path / "t", copy)
        write(copy, Plan(at, fault))
        assert Catalog.load_path(copy).count() == 94, recorded.calls[at]
        for number in range(4):
            Catalog.load_path(copy).append(rows(number))
        assert Catalog.load_path(copy).count() == 98
        expected = by_entries(copy, tmp_path / f"scratch{at}")
        assert list(differences(expected, Catalog.load_path(copy).state)) == []


def test_a_writer_follows_the_files_of_another_one(tmp_path: Path) -> None:
    """A writer whose files another one replaced reads the state again before it refers to them."""
    create(tmp_path / "t", 40)
    early, late = (Catalog.load_path(tmp_path / "t") for _ in range(2))
    late.log.write_checkpoint(late.append(rows(1)) and late.state)
    (tmp_path / "t" / LOG / "checkpoint" / f"{40:020d}.parquet").unlink()
    for number in range(4):
        early.refresh().append(rows(number))
    assert hint(tmp_path / "t")["version"] == 41
    assert entries_read(tmp_path / "t") <= 1
    assert Catalog.load_path(tmp_path / "t").count() == 45


@pytest.mark.usefixtures("with_deltas")
def test_loading_decodes_no_statistics(tmp_path: Path) -> None:
    table = Catalog.load_path(tmp_path / "t")
    base = table.state.segments.base
    assert not {name for name in base.decoded_names if name[0].isdigit()}
    table.scan(filters=[("id", ">", 100)]).tasks()
    assert {name for name in base.decoded_names if name[0].isdigit()} == {"1.nulls", "1.max"}
    table.scan(filters=[("id", "<", 100)]).tasks()
    assert {name for name in base.decoded_names if name[0].isdigit()} == {
        "1.nulls",
        "1.min",
        "1.max",
    }


def test_estimates_and_plans_decode_only_the_row_groups_of_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 segments the first condition leaves one, so texts are decoded in its row group alone."""
    monkeypatch.setattr(state_files, "GROUP_ROWS", 4)
    create(tmp_path / "t", 40)
    read, decoded = BoundedFile.read, set[tuple[str, int]]()

    def recorded(self: BoundedFile, names: Sequence[str], group: int | None = None) -> pa.Table:
        decoded.update((name, group) for name in names if group is not None)
        return read(self, names, group)

    monkeypatch.setattr(BoundedFile, "read", recorded)
    table = Catalog.load_path(tmp_path / "t")
    scan = table.scan(filters=[("s", "=", "row 22"), ("id", "=", 22)])
    assert matching_rows(scan) == len(scan.tasks()) == 1
    assert {group for name, group in decoded if name == "1.min"} == set(range(10))
    assert {group for name, group in decoded if name == "2.min"} == {22 // 4}


def test_paths_that_may_be_unsafe_are_found_by_their_bytes() -> None:
    """All paths of a few characters, alone and among others; ``safe_path`` decides about each."""
    texts = ["".join(chars) for size in range(5) for chars in itertools.product("a./", repeat=size)]
    texts += ["a\\b", "a\nb", "a\x7f", "ü/ü", "a/b.parquet", "a../b", "a./b", "a/...", "x/..."]
    around = ["data/0-a.parquet"] * 3
    for text in texts:
        unsafe = pc.match_substring_regex(pa.array([text]), UNSAFE)[0].as_py()
        for paths in ([text], [*around, text, *around]):
            assert may_be_unsafe(pa.array(paths)) or not unsafe, paths
            assert may_be_unsafe(pa.array(["/", *paths]).slice(1)) or not unsafe, paths
    assert not may_be_unsafe(pa.array([*around, "lake/a..parquet", "a./b"]))


def test_places_of_segments_are_handed_on_as_far_as_files_agree() -> None:
    """A delta leaves out segments that were removed since the file before it."""

    def columns(*paths: str) -> SegmentColumns:
        return SegmentColumns.of_table(pa.table({"path": list(paths)}))

    stored = Stored(columns("a", "b", "c", "d"))
    assert stored.places == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert stored.followed_by(columns("a", "b", "d", "e"), 2).places == {
        **{"a": 0, "b": 1},
        **{"d": 2, "e": 3},
    }
    assert stored.followed_by(columns("a", "b", "c", "d", "e"), 4).places["e"] == 4
    assert stored.places == {"a": 0, "b": 1, "c": 2, "d": 3}
