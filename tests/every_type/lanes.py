"""The three ways to write and read a type: PyArrow, the jar's SQL, and Spark's Python data source.

A lane makes a table, writes rows into it and shows them. Rows have an ``id``, their position, and a
column ``x`` that holds a value in a form: as it is, or in an array, a map or a struct.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from every_type.kind import Imported, Kind, Value
from versioned_catalog import Catalog, Table
from versioned_catalog.model.sql_literals import decode
from versioned_catalog.read.aggregates import count_values, extreme

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NULL = (None,)
Shown = list[tuple[int, Any]]


@dataclass(frozen=True)
class Form:
    """What a column holds of a value: how it is declared, made, and taken out again.

    Args:
        path: the column of the value.
    """

    path: str
    ddl: str
    sql: str
    python: Callable[[Any], Any]
    taken_sql: str
    taken: Callable[[Any], Any]
    arrow: Callable[[pa.DataType], pa.DataType]


PLAIN = Form("x", "{}", "{}", lambda v: v, "{}", lambda v: v, lambda t: t)
FORMS = {
    "array": Form(
        *("x.element", "ARRAY<{}>", "array({})", lambda v: [v], "{}[0]"),
        *(lambda v: v[0], pa.list_),
    ),
    "map": Form(
        *("x.value", "MAP<STRING, {}>", "map('k', {})", lambda v: [("k", v)], "{}['k']"),
        lambda v: dict(v)["k"],
        lambda t: pa.map_(pa.string(), t),
    ),
    "map key": Form(
        *("x.key", "MAP<{}, INT>", "map({}, 1)", lambda v: [(v, 1)], "map_keys({})[0]"),
        lambda v: v[0][0],
        lambda t: pa.map_(t, pa.int32()),
    ),
    "struct": Form(
        *("x.f", "STRUCT<f: {}>", "named_struct('f', {})", lambda v: {"f": v}, "{}.f"),
        lambda v: v["f"],
        lambda t: pa.struct([("f", t)]),
    ),
}


def plain(value: Any) -> Any:
    """A value that equals itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


class Lane(Protocol):
    """One way to write and read."""

    def expected(self, kind: Kind) -> list[Any]: ...
    def widened(self, kind: Kind) -> list[Any]: ...
    def compares(self, kind: Kind) -> bool: ...
    def create(self, columns: str, **how: Any) -> Table: ...
    def write(
        self,
        table: Table,
        kind: Kind,
        values: Sequence[Value | None],
        form: Form = PLAIN,
        *,
        first: int = 0,
        column: str | None = "x",
        pin: str | None = None,
    ) -> None: ...
    def show(
        self,
        table: Table,
        kind: Kind,
        form: Form = PLAIN,
        *,
        column: str = "x",
        where: tuple[str, Value | None] | None = None,
        pin: str | None = None,
    ) -> Shown: ...
    def ends(self, table: Table, kind: Kind) -> tuple[Any, ...]: ...
    def alter(self, table: Table, kind: Kind, change: str, value: Value | None = None) -> None: ...
    def changes(self, table: Table, kind: Kind) -> list[tuple[int, Any, str]]: ...
    def lake(self, kind: Kind, folder: Path) -> None: ...
    def imported(self, kind: Kind) -> Imported: ...


class ArrowLane:
    """PyArrow alone."""

    def __init__(self, catalog: Catalog, namespace: str) -> None:
        self.catalog, self.namespace = catalog, namespace

    def expected(self, kind: Kind) -> list[Any]:
        return [plain(value) for value in kind.python]

    def widened(self, kind: Kind) -> list[Any]:
        assert kind.wider is not None
        return [plain(value) for value in kind.wider.python]

    def compares(self, kind: Kind) -> bool:
        return kind.ordered and not kind.spark_only

    def create(self, columns: str, **how: Any) -> Table:
        name = f"{self.namespace}.t{len(self.catalog.list_tables(self.namespace))}"
        return self.catalog.create_table(name, columns, **how)

    def rows(self, kind: Kind, values: Sequence[Value | None], form: Form, first: int) -> pa.Table:
        column = [None if v is None else form.python(v.python) for v in values]
        ids = pa.array(range(first, first + len(values)), pa.int64())
        return pa.table({"id": ids, "x": pa.array(column, form.arrow(kind.arrow))})

    def write(
        self,
        table: Table,
        kind: Kind,
        values: Sequence[Value | None],
        form: Form = PLAIN,
        *,
        first: int = 0,
        column: str | None = "x",
        pin: str | None = None,
    ) -> None:
        rows = self.rows(kind, values, form, first)
        rows = rows.drop_columns(["x"]) if column is None else rows.rename_columns(["id", column])
        seen = table.refresh() if pin is None else table.refresh().seen_as(pin)
        seen.upsert(rows) if table.primary_key else seen.append(rows)

    def show(
        self,
        table: Table,
        kind: Kind,
        form: Form = PLAIN,
        *,
        column: str = "x",
        where: tuple[str, Value | None] | None = None,
        pin: str | None = None,
    ) -> Shown:
        seen = table.refresh() if pin is None else table.refresh().seen_as(pin)
        filters = None if where is None else [(column, *_operands(where))]
        found = seen.scan(["id", column], filters).to_arrow().to_pylist()
        return sorted(
            (row["id"], None if row[column] is None else plain(form.taken(row[column])))
            for row in found
        )

    def ends(self, table: Table, kind: Kind) -> tuple[Any, ...]:
        scan = table.refresh().scan()
        column = scan.state.schema.get(("x",))
        found = [extreme(scan, column, greatest) for greatest in (False, True)]
        count = count_values(scan, column)
        if kind.spark_only or not kind.ordered:
            return (count, *(known for known, _ in found))
        return (
            count,
            *(plain(decode(text, column.type)) if known else "unknown" for known, text in found),
        )

    def alter(self, table: Table, kind: Kind, change: str, value: Value | None = None) -> None:
        alteration = table.refresh().alter()
        match change:
            case "add y":
                assert value is not None
                alteration.add_column("y", kind.sql, default=value.python)
                if kind.logical is not None:
                    alteration.set_logical("y", kind.logical)
                alteration.commit()
            case "drop x":
                alteration.drop_column("x").commit()
            case type_:
                alteration.change_type("x", type_).commit()

    def changes(self, table: Table, kind: Kind) -> list[tuple[int, Any, str]]:
        found = table.refresh().changes(1).to_arrow().to_pylist()
        return [(row["id"], plain(row["x"]), row["_change_type"]) for row in found]

    def lake(self, kind: Kind, folder: Path) -> None:
        rows = self.rows(kind, kind.values or NULL, PLAIN, 0)
        pq.write_table(rows, folder / "rows.parquet")

    def imported(self, kind: Kind) -> Imported:
        return kind.from_arrow or Imported(kind.sql, tuple(self.expected(kind)))


def _operands(where: tuple[str, Value | None]) -> tuple[Any, ...]:
    operator, value = where
    return (operator,) if value is None else (operator, value.python)


def _properties(properties: dict[str, str]) -> str:
    """Properties as a statement lists them; empty if there are none."""
    escaped = {key: text.replace("\\", "\\\\") for key, text in properties.items()}
    pairs = (f"'{key}' = \"{text}\"" for key, text in escaped.items())
    return f"({', '.join(pairs)})" if properties else ""


class SqlLane:
    """Statements of the jar, which write and read natively where Spark can."""

    def __init__(self, spark: SparkSession, catalog: Catalog, namespace: str) -> None:
        self.spark, self.catalog, self.namespace = spark, catalog, namespace

    def expected(self, kind: Kind) -> list[Any]:
        return list(kind.shown)

    def widened(self, kind: Kind) -> list[Any]:
        assert kind.wider is not None
        return list(kind.wider.shown)

    def compares(self, kind: Kind) -> bool:
        return kind.ordered

    def create(self, columns: str, **how: Any) -> Table:
        name = f"{self.namespace}.t{len(self.catalog.list_tables(self.namespace))}"
        key = "".join(f", PRIMARY KEY ({one})" for one in how.get("primary_key", ()))
        parts = "".join(f" PARTITIONED BY ({one})" for one in how.get("partitioned_by", ()))
        sets = _properties(how.get("properties", {}))
        self.spark.sql(
            f"CREATE TABLE versioned.{name} ({columns}{key}){parts}"
            + (f" TBLPROPERTIES {sets}" if sets else "")
        )
        return self.catalog.load_table(name)

    def frame(
        self, kind: Kind, values: Sequence[Value | None], form: Form, first: int
    ) -> DataFrame:
        null = f"CAST(NULL AS {form.ddl.format(kind.sql)})"
        made = (form.sql.format(f"CAST({v.sql} AS {kind.sql})") if v else null for v in values)
        rows = (f"({first + at}L, {one})" for at, one in enumerate(made))
        return self.spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS v(id, x)")

    def write(
        self,
        table: Table,
        kind: Kind,
        values: Sequence[Value | None],
        form: Form = PLAIN,
        *,
        first: int = 0,
        column: str | None = "x",
        pin: str | None = None,
    ) -> None:
        frame = self.frame(kind, values, form, first)
        frame = frame.drop("x") if column is None else frame.withColumnRenamed("x", column)
        self.save(frame.coalesce(1), table, {} if pin is None else {"schemaVersion": pin})

    def save(self, frame: DataFrame, table: Table, options: dict[str, str]) -> None:
        frame.writeTo(f"versioned.{table.name}").options(**options).append()

    def load(self, table: Table, options: dict[str, str]) -> DataFrame:
        return self.spark.read.options(**options).table(f"versioned.{table.name}")

    def show(
        self,
        table: Table,
        kind: Kind,
        form: Form = PLAIN,
        *,
        column: str = "x",
        where: tuple[str, Value | None] | None = None,
        pin: str | None = None,
    ) -> Shown:
        frame = self.load(table, {} if pin is None else {"schemaVersion": pin})
        if where is not None:
            operator, value = where
            frame = frame.where(f"{column} {operator} {'' if value is None else value.sql}")
        shown = kind.show.format(form.taken_sql.format(column))
        return sorted(map(tuple, frame.selectExpr("id", shown).collect()))

    def ends(self, table: Table, kind: Kind) -> tuple[Any, ...]:
        frame = self.load(table, {})
        if not kind.ordered:
            return (frame.selectExpr("count(x)").collect()[0][0], False, False)
        shown = (kind.show.format(f"{end}(x)") for end in ("min", "max"))
        return tuple(frame.selectExpr("count(x)", *shown).collect()[0])

    def alter(self, table: Table, kind: Kind, change: str, value: Value | None = None) -> None:
        name = f"versioned.{table.name}"
        match change:
            case "add y":
                assert value is not None
                self.spark.sql(f"ALTER TABLE {name} ADD COLUMN y {kind.sql} DEFAULT {value.sql}")
                if kind.logical is not None:
                    sets = _properties(kind.properties("y"))
                    self.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES {sets}")
            case "drop x":
                self.spark.sql(f"ALTER TABLE {name} DROP COLUMN x")
            case type_:
                self.spark.sql(f"ALTER TABLE {name} ALTER COLUMN x TYPE {type_}")

    def changes(self, table: Table, kind: Kind) -> list[tuple[int, Any, str]]:
        frame = self.spark.sql(f"SELECT * FROM versioned.{table.name} CHANGES FROM VERSION 1")
        rows = frame.selectExpr("id", kind.show.format("x"), "_change_type").collect()
        return [(row[0], row[1], row[2]) for row in rows]

    def lake(self, kind: Kind, folder: Path) -> None:
        frame = self.frame(kind, kind.values or NULL, PLAIN, 0)
        frame.coalesce(1).write.mode("append").parquet(str(folder))

    def imported(self, kind: Kind) -> Imported:
        return kind.from_spark or Imported(kind.sql, tuple(kind.shown), kind.show)


class SourceLane(SqlLane):
    """``format("versioned")`` by path, through the Python data source; tables are made in Python."""

    def create(self, columns: str, **how: Any) -> Table:
        return ArrowLane(self.catalog, self.namespace).create(columns, **how)

    def save(self, frame: DataFrame, table: Table, options: dict[str, str]) -> None:
        writer = frame.write.format("versioned").option("io", "python").options(**options)
        writer.mode("append").save(table.location)

    def load(self, table: Table, options: dict[str, str]) -> DataFrame:
        reader = self.spark.read.format("versioned").option("io", "python").options(**options)
        return reader.load(table.location)

    def alter(self, table: Table, kind: Kind, change: str, value: Value | None = None) -> None:
        ArrowLane(self.catalog, self.namespace).alter(table, kind, change, value)

    def changes(self, table: Table, kind: Kind) -> list[tuple[int, Any, str]]:
        frame = self.load(table, {"readChanges": "true", "startingVersion": "1"})
        rows = frame.selectExpr("id", kind.show.format("x"), "_change_type").collect()
        return [(row[0], row[1], row[2]) for row in rows]
