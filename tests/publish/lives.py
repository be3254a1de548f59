"""Random lives of a published table: replaced, dropped, rolled back, expired, imported into, raced for.

The model knows by itself what must be published after each step: the newest version, an older one that
stays since the newest can't be said in Iceberg, or nothing. It imports nothing of the packages under
test but what it drives.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from publish.engines import DUCKDB, PYICEBERG, metadata_of, published_versions
from publish.histories import Column, History, Version, _matches, _show
from publish.rows import canonical
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.names.creation import add_name, creation
from versioned_catalog.names.folders import create_at, load_at
from versioned_catalog.names.names_log import TableName
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Put, StoredFile
from versioned_interop.publish.publication import HINT

HOME = 0
"""The key under which a row of the model has the file of somebody else that holds it; None for ours."""

TIMES = [dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (1970, 1990, 2026)]
SPANS = {"18000 days": TIMES[0], "9000 days": TIMES[1]}
"""Values of ``ttl``, and the latest of the times above that they hide, for years to come."""


class Slow(LocalStore):
    """A store in which something happens once, right before a path is written or listed."""

    def __init__(self, url: str, path: str, meanwhile: Callable[[], object]) -> None:
        super().__init__(url)
        self._path, self._meanwhile = path, meanwhile

    def _happen(self, path: str) -> None:
        if path.endswith(self._path):
            self._path = "/"
            self._meanwhile()

    def overwrite(self, path: str, data: bytes) -> None:
        self._happen(path)
        super().overwrite(path, data)

    def files(self, folder: str) -> Sequence[StoredFile]:
        self._happen(folder)
        return super().files(folder)

    def put_if_absent(self, path: str, data: bytes, dated: dt.datetime | None = None) -> Put:
        self._happen(path)
        return super().put_if_absent(path, data, dated)


@dataclass(frozen=True)
class Facts:
    """What the model knows of a version beside its columns and what it shows.

    Args:
        rows: all rows that are stored, also hidden ones.
        ttl: the latest time that the property ``ttl`` hides, if there is one.
        floor: the latest time that stays hidden by an earlier one.
        began: the version that began the incarnation.
    """

    rows: tuple[dict[int, Any], ...]
    ttl: dt.datetime | None
    floor: dt.datetime | None
    began: int

    @property
    def hidden(self) -> dt.datetime | None:
        """The latest time whose rows are not shown."""
        return max((one for one in (self.ttl, self.floor) if one is not None), default=None)

    @property
    def is_sayable(self) -> bool:
        """Whether Iceberg can say the version."""
        return self.ttl is None and all(row.get(HOME) is None for row in self.rows)


def create_in(catalog: Catalog, dropped: Table, ddl: str, **options: Any) -> None:
    """Create a table in the folder of a dropped one, and with its name.

    ``Catalog.create_table`` leaves the folder to the dropped table, which may be undropped.
    """
    operation = creation(ddl, **options)
    table = create_at(dropped.store, operation, dropped.name, str(uuid4()))
    location = dropped.location.removeprefix(catalog._store.url + "/")
    named = TableName(parse_path(dropped.name), location, operation.table_uuid)
    add_name(catalog._names, named, table, str(uuid4()))


@dataclass
class Life(History):
    """One life of one table name.

    Args:
        lake: a folder of files of others, which the catalog allows as the root ``lake``.
        facts: those of each version.
        published: the version that other engines must read; None if nothing is published.
        span, floor, began: of the newest version, see ``Facts``.
        checked: the metadata file and version that other engines have read and found right.
    """

    lake: Path = field(default_factory=Path)
    facts: list[Facts] = field(default_factory=list)
    published: int | None = None
    span: str | None = None
    floor: dt.datetime | None = None
    began: int = 0
    checked: tuple[str, int] = ("", -1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.name = self.table.name
        self.catalog.drop_table(self.name)
        self._committed(1)
        self._create(2)
        self.published = 2 if self.always else None
        self.expect()

    # What is there

    def _columns_anew(self) -> str:
        self.columns = (
            self._column("k", "INT"),
            self._column("ts", "TIMESTAMP"),
            self._column("v", "STRING"),
        )
        return ", ".join(f"{one.name} {one.ddl}" for one in self.columns)

    def _options(self) -> dict[str, Any]:
        properties = {"publish": "iceberg"} if self.always else {}
        key = ["k"] if self.keyed else []
        return {"primary_key": key, "time_index": "ts", "properties": properties}

    def _create(self, version: int, *, replace: bool = False) -> None:
        """Create the table again, or replace it; the version is that of the commit."""
        ddl, self.rows = self._columns_anew(), []
        self.span, self.floor, self.began = None, None, version
        if replace:
            self.catalog.replace_table(self.name, ddl, **self._options())
        else:
            create_in(self.catalog, self.table, ddl, **self._options())
        self.table = self.catalog.load_table(self.name)
        assert self.table.version == version
        self._committed(version)

    def _committed(self, version: int) -> None:
        ttl = None if self.span is None else SPANS[self.span]
        now = Facts(tuple(self.rows), ttl, self.floor, self.began)
        shown = Version(self.columns, tuple(filter(self._is_shown(now.hidden), self.rows)))
        while len(self.past) < version:  # a compaction may be several commits
            self.past.append(self.past[-1])
            self.facts.append(self.facts[-1])
        if len(self.past) == version:
            self.past.append(shown)
            self.facts.append(now)

    def _is_shown(self, hidden: dt.datetime | None) -> Callable[[dict[int, Any]], bool]:
        time = next((one.key for one in self.columns if one.name == "ts"), None)
        return lambda row: hidden is None or time is None or row[time] > hidden

    def _some(self, least: int = 0, **wanted: Any) -> Column | None:
        """The row key has a name of its own, and keeps it."""
        found = super()._some(least, **wanted)
        return None if found is not None and found.name in ("k", "ts") else found

    def _value(self, column: Column) -> Any:
        if column.name == "ts":
            return self.random.choice(TIMES)
        if column.name == "k":
            return self.random.randrange(5)
        return super()._value(column)

    def _new_rows(self) -> tuple[list[dict[int, Any]], pa.Table]:
        count = self.random.randrange(1, 5)
        rows = [{one.key: self._value(one) for one in self.columns} for _ in range(count)]
        shown = [_show(row, self.columns) for row in rows]
        return rows, pa.Table.from_pylist(shown, self.table.scan().schema)

    def _merged(self, rows: list[dict[int, Any]]) -> list[dict[int, Any]]:
        """All rows after some were added; of one key, the last one stays."""
        if not self.keyed:
            return [*self.rows, *rows]
        key = [one.key for one in self.columns if one.name in ("k", "ts")]
        latest = {tuple(row[one] for one in key): row for row in [*self.rows, *rows]}
        return list(latest.values())

    # Steps

    def _steps(self) -> list[tuple[Any, int]]:
        steps = [
            (self.append, 8),
            (self.delete, 3),
            (self.overwrite, 1),
            (self.add_column, 2),
            (self.drop_column, 1),
            (self.rename_column, 1),
            (self.widen, 1),
            (self.compact, 2),
            (self.roll_back, 3),
            (self.tag, 1),
            (self.replace, 1),
            (self.drop_and_create, 1),
            (self.switch, 2),
            (self.expire_by_time, 3),
            (self.publish_by_hand, 2),
            (self.unpublish, 1),
            (self.clean_up, 2),
            (self.race, 2),
        ]
        return steps if self.keyed else [*steps, (self.partition, 1), (self.import_in_place, 2)]

    def run(self, steps: int) -> None:
        """Take some steps; after each, what is published is what the model says."""
        for _ in range(steps):
            before = self.table.version
            step = self.random.choices(*zip(*self._steps(), strict=True))[0]
            step()
            self.follow(before, step.__name__)
            try:
                self.expect()
            except BaseException as error:
                raise AssertionError(f"after {step.__name__}: {error}") from error
        if self.facts[-1].is_sayable:
            self.table.maintenance.publish()
            self.published = self.table.version
            self.expect()

    def follow(self, before: int, step: str) -> None:
        """What a step that committed something must have published."""
        if self.table.version == before or step in ("publish_by_hand", "unpublish", "clean_up"):
            return
        is_anew = step in ("replace", "drop_and_create")
        if self.always and self.facts[-1].is_sayable:
            self.published = self.table.version
        elif is_anew or (self.always and step == "roll_back"):
            self.published = None

    def append(self) -> None:
        rows, arrow = self._new_rows()
        self.table.append(arrow)
        self.rows = self._merged(rows)
        self._committed(self.table.version)

    def overwrite(self) -> None:
        rows, arrow = self._new_rows()
        self.table.overwrite(arrow)
        self.rows = []
        self.rows = self._merged(rows)
        self._committed(self.table.version)

    def delete(self) -> None:
        where = self.comparison(self.past[-1])
        if where is None or where[1] == "is null":
            return
        self.table.delete([where])
        shown = self._is_shown(self.facts[-1].hidden)
        now = Version(self.columns, tuple(self.rows))
        gone = [row for row in self.rows if shown(row) and _matches(now, row, where)]
        copied = {row.get(HOME) for row in gone}  # files of which rows went are copied without them
        left = [row for row in self.rows if not any(row is one for one in gone)]
        self.rows = [{**row, HOME: None} if row.get(HOME) in copied else row for row in left]
        self._committed(self.table.version)

    def compact(self) -> None:
        resolves = self.keyed and self.random.random() < 0.7
        self.table.maintenance.compact(strategy="resolve" if resolves else "full")
        shown = self._is_shown(self.facts[-1].hidden)
        self.rows = [{**row, HOME: None} for row in self.rows if shown(row)]
        self._committed(self.table.version)

    def roll_back(self) -> None:
        least = max(self.began, self.table.state.floor)
        version = self.random.randrange(least, len(self.past))
        self.table.rollback(version)
        then = self.facts[version]
        self.columns, self.rows = self.past[version].columns, list(then.rows)
        self.span = next((text for text, time in SPANS.items() if time == then.ttl), None)
        self.floor = then.floor
        self._committed(self.table.version)

    def tag(self) -> None:
        least = max(self.began, self.table.state.floor)
        version = self.random.randrange(least, len(self.past))
        self.table.set_tag(f"tag{next(self.names)}", version)
        self._committed(self.table.version)

    def replace(self) -> None:
        self.always = self.random.random() < 0.5
        self._create(self.table.version + 1, replace=True)

    def drop_and_create(self) -> None:
        self.catalog.drop_table(self.name)
        self._committed(self.table.version + 1)
        self.always = self.random.random() < 0.5
        self._create(self.table.version + 2)

    def switch(self) -> None:
        """Have each commit published, or not any more."""
        self.always = not self.always
        change = self.table.alter()
        if self.always:
            change.set_property("publish", "iceberg").commit()
        else:
            change.unset_property("publish").commit()
        self._committed(self.table.version)

    def expire_by_time(self) -> None:
        """Set or unset ``ttl``; rows that it hid stay hidden."""
        before = self.facts[-1]
        if before.ttl is None:
            self.span = self.random.choice(list(SPANS))
            self.table.alter().set_property("ttl", self.span).commit()
        else:
            self.span = None
            self.table.alter().unset_property("ttl").commit()
        self.floor = before.hidden
        self._committed(self.table.version)

    def publish_by_hand(self) -> None:
        if self.facts[-1].is_sayable:
            assert self.table.maintenance.publish().version == self.table.version
            self.published = self.table.version
            return
        with suppress(InvalidRequestError):
            self.table.maintenance.publish()
            raise AssertionError("what Iceberg can't say was published")

    def unpublish(self) -> None:
        """With the property, the next write would publish again, even one that changes nothing."""
        if self.always:
            return
        self.table.maintenance.unpublish()
        self.published = None

    def clean_up(self) -> None:
        """Expire versions and vacuum: before a file goes, no published version needs it."""
        maintenance = self.table.maintenance
        keep = self.random.randrange(1, 4)
        maintenance.expire(dt.timedelta(0), keep, dry_run=False, force=True)
        self._maintained()
        state = self.table.state
        kept = set(state.tags.values())
        old = () if self.published is None else published_versions(self.table)
        may_stop = any(version < state.floor and version not in kept for version in old)
        try:
            maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)
        except InvalidRequestError:
            assert may_stop
            assert not self.facts[-1].is_sayable
            return
        assert self.facts[-1].is_sayable or not may_stop
        if self.published is not None and self.facts[-1].is_sayable:
            self.published = len(self.past) - 1
        self._maintained()

    def _maintained(self) -> None:
        """Note a commit that changed no rows."""
        if self.table.version == len(self.past):
            self._committed(self.table.version)
            if self.always and self.facts[-1].is_sayable:
                self.published = self.table.version

    def race(self) -> None:
        """Another writer commits and publishes in the middle of the publication of ours."""
        if not (self.always and self.facts[-1].is_sayable):
            return
        rows, arrow = self._new_rows()
        later, others = self._new_rows()

        def meanwhile() -> None:
            self.catalog.load_table(self.name).append(others)

        path = self.random.choice([HINT, "metadata.json", ".avro"])
        load_at(Slow(self.table.location, path, meanwhile), self.name).append(arrow)
        self.table.refresh()
        for added in (rows, later):
            self.rows = self._merged(added)
            self._committed(len(self.past))
        assert self.table.version == len(self.past) - 1

    def import_in_place(self) -> None:
        """Adopt a file of somebody else, which Iceberg can't name until a compaction has copied it."""
        rows, arrow = self._new_rows()
        file = self.lake / f"{next(self.names)}.parquet"
        bare = pa.table(dict(zip(arrow.column_names, arrow.columns, strict=True)))
        pq.write_table(bare, file)
        before = self.table.version
        with suppress(InvalidRequestError):
            self.table.import_files(file)
        if self.table.refresh().version != before:
            self.rows = [*self.rows, *({**row, HOME: file.name} for row in rows)]
            self._committed(self.table.version)

    # What other engines read

    def expect(self) -> None:
        """Compare what is published with what must be."""
        hint = Path(self.table.location, "iceberg", "metadata", "version-hint.text")
        if self.published is None:
            assert not hint.exists(), "there is a publication"
            return
        metadata = metadata_of(self.table)
        assert published_versions(self.table)[-1] == self.published
        if (metadata, self.published) == self.checked:
            return
        expected = canonical(self.past[self.published].shown())
        for engine in (DUCKDB, PYICEBERG):
            if self.published or engine.knows_version_0:
                found = canonical(engine.read(metadata, None, None))
                assert found == expected, f"{engine.name}: {found} instead of {expected}"
        self.checked = metadata, self.published
