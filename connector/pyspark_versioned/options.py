"""The options of the data source, parsed and checked, and the table that they name."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark_versioned.option_names import ANY_USE, OF_JAR, ROOT, STORAGE, Use, accepted
from pyspark_versioned.sql.protocol.codec import decode
from pyspark_versioned.sql.protocol.rows import PythonCommit
from pyspark_versioned.stream_options import stream_options
from versioned_catalog import (
    Catalog,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.commit.version_rules import version_or_tag
from versioned_catalog.log.entry import Batch
from versioned_catalog.model.keys import split_names
from versioned_catalog.model.partitioning import split_fields, split_outside
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.read.filters import Intersects
from versioned_catalog.storage.text import parse_json
from versioned_catalog.write.retry import batch_of

_CATALOG_NAME = re.compile(r"versioned(\.[^./\\:]+)+")

OF_BATCHES = ("application", "batch")
"""The options with which a write that is repeated happens once."""


@dataclass(frozen=True)
class KeyOptions:
    """The options ``primaryKey`` and ``timeIndex``."""

    primary_key: tuple[str, ...] = ()
    time_index: str | None = None


NO_KEY = KeyOptions()


@dataclass(frozen=True)
class Options:
    """Options of the data source.

    Args:
        path: the table's folder, or with ``warehouse`` its name.
        warehouse: the folder of a warehouse, or None.
        version, timestamp: which snapshot to read.
        columns: the columns to read, or None for all.
        box: which shapes to read; None for all rows.
        merge_schema: whether a write adds columns that the table does not have, and widens types; None
            for the table's ``schema_mode``.
        overwrite_schema: whether an overwrite replaces the table by one with the columns of the frame.
        partition_by: the partitioning of a table that a write creates, or None.
        key: the row key of a table that a write creates.
        change_column: the column with the type of each change, if a write applies changes.
        partial: whether a write keeps the values of columns that the frame lacks.
        schema: the schema pin, or schema version, in which the table is seen; None for the current one.
        overflow: shown for a value that does not fit its type there: ``error`` or ``null``.
        batch: application and number of a write that is repeated until it has happened.
        pushdown: whether to take filters from Spark; None to decide by Spark's version.
        commit: the commit of a write that the jar leaves to Python.
        stream: the options that only streams have.
        overwrite_mode: which rows an overwrite replaces: ``dynamic`` for those of the partitions that it
            writes, ``static`` for all; None for that of the session.
        session_overwrite_mode: the mode of the session, from the jar.
        replace_where: the condition of the rows that an overwrite replaces; None for all.
        creates: whether a write must create the table, from the jar, since Spark passes no save modes to
            a Python data source.
        storage: options of the file system; may hold credentials, so they have no repr.
    """

    path: str
    warehouse: str | None = None
    version: int | str | None = None
    timestamp: datetime | None = None
    columns: tuple[str, ...] | None = None
    box: Intersects | None = None
    merge_schema: bool | None = None
    overwrite_schema: bool = False
    partition_by: tuple[str, ...] | None = None
    overwrite_mode: str | None = None
    session_overwrite_mode: str | None = None
    replace_where: str | None = None
    creates: bool = False
    key: KeyOptions = NO_KEY
    change_column: str | None = None
    partial: bool = False
    schema: str | None = None
    overflow: str = "error"
    branch: str | None = None
    staged: str | None = None
    batch: Batch | None = None
    pushdown: bool | None = None
    commit: PythonCommit | None = field(default=None, repr=False)
    stream: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)


def parse_options(options: Mapping[str, str], use: Use | None = None, table: str = "") -> Options:
    """Parse options, whose keys are case-insensitive.

    Args:
        use: their use; None where Spark does not say yet.
        table: the table's name in errors.

    Raises:
        InvalidRequestError: an option is unknown, missing or invalid.
    """
    internal = {key.lower() for key in OF_JAR}
    of_jar = {key.lower(): value for key, value in options.items() if key.lower() in internal}
    of_user = {key: value for key, value in options.items() if key.lower() not in internal}
    user_options = accepted(of_user, ANY_USE if use is None else (use,), table, named=False)
    values: defaultdict[str, str | None] = defaultdict(lambda: None)
    values.update({key.lower(): value for key, value in user_options.items()} | of_jar)
    # Storage options keep the case that Spark gives them in.
    storage = {k[len(STORAGE) :]: v for k, v in options.items() if k.lower().startswith(STORAGE)}
    storage |= {key.lower(): v for key, v in options.items() if key.lower().startswith(ROOT)}
    if not values["path"]:
        raise InvalidRequestError(
            'no table is named; use load("/path/of/table"), or option("warehouse", W) and '
            'load("ns.table")',
            condition="INVALID_OPTION",
        )
    if values["versionasof"] is not None and values["timestampasof"] is not None:
        raise InvalidRequestError(
            "give versionAsOf or timestampAsOf, not both", condition="INVALID_OPTION"
        )
    if (values["io"] or "native").lower() not in ("native", "python"):
        raise InvalidRequestError(
            f"io is {values['io']!r}; it must be native or python", condition="INVALID_OPTION"
        )
    return Options(
        path=values["path"],
        warehouse=values["warehouse"],
        version=None if values["versionasof"] is None else version_or_tag(values["versionasof"]),
        timestamp=None if values["timestampasof"] is None else _instant(values["timestampasof"]),
        columns=None if values["columns"] is None else _names(values["columns"]),
        box=None if values["box"] is None else parse_box(values["box"]),
        merge_schema=_flag("mergeSchema", values["mergeschema"]),
        overwrite_schema=_flag("overwriteSchema", values["overwriteschema"]) is True,
        partition_by=None if values["partitionby"] is None else _fields(values["partitionby"]),
        overwrite_mode=values["partitionoverwritemode"],
        session_overwrite_mode=values["sessionoverwritemode"],
        replace_where=values["replacewhere"],
        creates=values["savemode"] == "create",
        key=_key(values["primarykey"], values["timeindex"]),
        change_column=values["changecolumn"],
        partial=_flag("partialUpdate", values["partialupdate"]) is True,
        schema=values["schemaversion"],
        overflow=parse_overflow(values["onoverflow"]),
        branch=values["branch"],
        staged=values["staged"],
        batch=parse_batch(values["application"], values["batch"], values["path"]),
        pushdown=None if values["pushdown"] == "auto" else _flag("pushdown", values["pushdown"]),
        commit=_commit(values["commit"]),
        stream=stream_options(user_options),
        storage=storage,
    )


def parse_batch(application: str | None, number: str | None, table: str) -> Batch | None:
    """The batch that a write names; None if it names none.

    Raises:
        InvalidRequestError: one option is missing, or the number is not one.
    """
    if application is None and number is None:
        return None
    if application is None or number is None:
        raise InvalidRequestError(
            f"{table}: application and batch go together: the name of a job, and the number of its "
            "batch, as foreachBatch gives it",
            condition="INVALID_OPTION",
        )
    if not number.strip().isdecimal():
        raise InvalidRequestError(
            f"{table}: batch is {number!r}; it must be a number from 0 on",
            condition="INVALID_OPTION",
        )
    return batch_of((application, int(number)), table)


def parse_overflow(text: str | None) -> str:
    """The option ``onOverflow``: ``error`` or ``null``.

    Raises:
        InvalidRequestError: it is neither.
    """
    if text is None or text.lower() in ("error", "null"):
        return "error" if text is None else text.lower()
    raise InvalidRequestError(
        f"onOverflow is {text!r}; it must be error or null", condition="INVALID_OPTION"
    )


def parse_box(text: str) -> Intersects:
    """The option ``box``: ``column:xmin,ymin,xmax,ymax``.

    Raises:
        InvalidRequestError: it has another form.
    """
    name, _, numbers = text.rpartition(":")
    try:
        edges = tuple(map(float, numbers.split(",")))
    except ValueError:
        edges = ()
    if len(edges) != 4 or not name.strip():
        raise InvalidRequestError(
            f"box is {text!r}; it must be a column and four numbers, as in place:13.0,52.3,13.8,52.7",
            condition="INVALID_OPTION",
        )
    return Intersects(parse_path(name.strip()), edges)


def _instant(text: str) -> datetime:
    """A point in time. The jar has converted it from the session's time zone, which only Spark knows."""
    try:
        instant = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise InvalidRequestError(
            f"timestampAsOf is {text!r}, which is no timestamp; write it as 2026-01-31T12:00:00Z"
        ) from None
    if instant.tzinfo is None:
        raise InvalidRequestError(
            f"timestampAsOf is {text!r}, without a time zone; without the jar the session's is not "
            f"known here, so write the offset, as in {instant.isoformat()}Z"
        )
    return instant


def _commit(text: str | None) -> PythonCommit | None:
    """The commit that the jar leaves to Python (``connector/PROTOCOL.md``)."""
    if text is None:
        return None
    try:
        return decode(PythonCommit, parse_json(text, "the option commit"), "the option commit")
    except (CorruptTableError, InvalidRequestError) as error:
        raise InvalidRequestError(
            f"the option commit is for the jar alone; leave it out ({error})",
            condition="INVALID_OPTION",
        ) from None


def _flag(name: str, text: str | None) -> bool | None:
    match None if text is None else text.lower():
        case None:
            return None
        case "false":
            return False
        case "true":
            return True
        case _:
            raise InvalidRequestError(
                f"{name} is {text!r}; it must be true or false", condition="INVALID_OPTION"
            )


def _key(primary_key: str | None, time_index: str | None) -> KeyOptions:
    named = () if primary_key is None else split_names(primary_key, "primaryKey")
    return KeyOptions(tuple(named), time_index)


def _names(text: str) -> tuple[str, ...]:
    """Comma separated names, in backticks where they hold commas or dots."""
    names = split_outside(text, "columns")
    return tuple(name if "`" not in name else ".".join(parse_path(name)) for name in names)


def _fields(text: str) -> tuple[str, ...]:
    """Comma separated transforms, or the JSON list of names that Spark's ``partitionBy`` makes."""
    if not text.startswith("["):
        return split_fields(text, "partitionBy")
    try:
        names = parse_json(text, "the option partitionBy")
    except CorruptTableError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidRequestError(
            "the option partitionBy is for the jar alone; leave it out", condition="INVALID_OPTION"
        )
    return tuple(render_path((name,)) for name in names)


MAIN = "main"
"""Iceberg's name of the table itself among its branches."""


@dataclass(frozen=True)
class Target:
    """A table by its folder, or by its name in a warehouse.

    Args:
        path: the folder, or the name.
        warehouse: the warehouse's folder, or None.
        storage: options of the file system; may hold secrets, so they have no repr.
        schema, overflow: the schema in which it is seen; see ``Table.seen_as``.
        branch: the branch of it, or None.
    """

    path: str
    warehouse: str | None
    storage: Mapping[str, Any] = field(repr=False)
    schema: str | None = None
    overflow: str = "error"
    branch: str | None = None

    @staticmethod
    def of(options: Options) -> Target:
        """The table that options name."""
        # A worker may run in another folder than the driver.
        here = options.path if options.warehouse or "://" in options.path else None
        path = here if here is not None else os.path.abspath(os.path.expanduser(options.path))
        storage = dict(options.storage)
        return Target(
            *(path, options.warehouse, storage, options.schema, options.overflow, options.branch)
        )

    def refuse_catalog_name(self, asked: str) -> None:
        """Refuse the name of a table in the catalog ``versioned`` as a folder that does not exist yet.

        With the jar, a name of any catalog is refused before. This process knows no catalogs, so only
        the usual name of one counts.

        Args:
            asked: the path as the user gave it.
        """
        if self.warehouse is None and _CATALOG_NAME.fullmatch(asked):
            name = asked.removeprefix("versioned.")
            raise InvalidRequestError(
                f"{asked} is the name of a table in the catalog versioned, which needs the jar, and "
                'format("versioned") takes a folder: use the name with its warehouse, '
                f'option("warehouse", W) and {name}; or write ./{asked} if you mean a folder',
                condition="INVALID_OPTION",
            )

    def load(self) -> Table:
        """The table at its newest version, in the schema in which it is seen.

        Raises:
            NotFoundError: there is no table, or no such schema.
        """
        return self.seen(self.open())

    def seen(self, table: Table) -> Table:
        """The table in the schema in which it is seen."""
        return table if self.schema is None else table.seen_as(self.schema, overflow=self.overflow)

    def open(self) -> Table:
        """The table, or the branch of it, at its newest version, in its current schema.

        Raises:
            NotFoundError: there is no table, or no such branch.
        """
        return self._on_branch(self._opened())

    def _on_branch(self, table: Table) -> Table:
        return table if self.branch in (None, MAIN) else table.branch(str(self.branch))

    def _opened(self) -> Table:
        if self.warehouse is None:
            return Catalog.load_path(self.path, self.storage)
        return Catalog(self.warehouse, self.storage).load_table(self.path)

    def find(self) -> Table | None:
        """The table, or None if there is none."""
        try:
            table = self._opened()
        except NotFoundError:
            return None
        return self.seen(self._on_branch(table))
