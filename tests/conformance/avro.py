"""Situations of Apache Avro: what a reader's schema does to a writer's data, by ALTER here."""

from __future__ import annotations

from decimal import Decimal

from conformance.lake import Lake, alter, refused, rows
from conformance.registry import Situation, Source

SITUATIONS: list[Situation] = []
avro = Source("avro", "doc/content/en/docs/++version++/Specification/_index.md", SITUATIONS)
compatibility = Source(
    "avro", "lang/java/avro/src/test/java/org/apache/avro/TestSchemaCompatibility.java", SITUATIONS
)


@avro.passes(
    "Schema Resolution: the ordering of fields may be different",
    "Fields in another order are the same fields.",
)
def avro_order(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    alter(table, "ALTER COLUMN b FIRST")
    assert rows(table) == [("x", 1)]


@avro.differs(
    "Schema Resolution: fields are matched by name",
    "A field is matched by its name, or by an alias that the reader declares.",
    "by ID: a rename needs no alias, and another field of the same name is not the same.",
)
def avro_names(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    table.alter().rename_column("a", "t").rename_column("b", "a").rename_column("t", "b").commit()
    assert rows(table, "a", "b") == [(2, 1)]


@avro.passes(
    "Schema Resolution: fields with the same name in both records are resolved recursively",
    "Records in records are resolved as records are.",
)
def avro_recursive(lake: Lake) -> None:
    table = lake.table("r STRUCT<s: STRUCT<a: INT, b: INT>>", ({"s": {"a": 1, "b": 2}},))
    alter(table, "DROP COLUMN r.s.a")
    table.alter().add_column("r.s.c", "INT", default=9).change_type("r.s.b", "BIGINT").commit()
    assert rows(table) == [({"s": {"b": 2, "c": 9}},)]


@avro.passes(
    "Schema Resolution: the writer's value for that field is ignored",
    "Values of fields that the reader lacks are left out.",
)
def avro_ignored(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    alter(table, "DROP COLUMN b")
    assert rows(table) == [(1,)]


@avro.passes(
    "Schema Resolution: the reader should use the default value from its field",
    "A field that the writer lacks has its default.",
)
def avro_default(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    alter(table, "ADD COLUMN b STRING NOT NULL DEFAULT 'd'")
    assert rows(table) == [(1, "d")]


@avro.passes(
    "Schema Resolution: a field with no default value",
    "A required field that the writer lacks, and that has no default, is an error.",
)
def avro_no_default(lake: Lake) -> None:
    with refused("b can't be added NOT NULL without a default"):
        alter(lake.table("a INT", (1,)), "ADD COLUMN b STRING NOT NULL")


@avro.differs(
    "Schema Resolution: int is promotable to long, float, or double",
    "int becomes long, float or double.",
    "not FLOAT, which does not hold every INT.",
)
def avro_int(lake: Lake) -> None:
    for new in ("BIGINT", "DOUBLE"):
        table = lake.table("n INT", (2**31 - 1,), name=f"to_{new}")
        alter(table, f"ALTER COLUMN n TYPE {new}")
        assert rows(table) == [(2**31 - 1,)]
    with refused("from INT to FLOAT"):
        alter(lake.table("n INT", (2**31 - 1,)), "ALTER COLUMN n TYPE FLOAT")


@avro.differs(
    "Schema Resolution: long is promotable to float or double",
    "long becomes float or double.",
    "neither holds every BIGINT; it becomes a DECIMAL of 20 digits or more.",
)
def avro_long(lake: Lake) -> None:
    table = lake.table("n BIGINT", (2**63 - 1,))
    for new in ("FLOAT", "DOUBLE"):
        with refused(f"from BIGINT to {new}"):
            alter(table, f"ALTER COLUMN n TYPE {new}")
    alter(table, "ALTER COLUMN n TYPE DECIMAL(20,0)")
    assert rows(table) == [(Decimal(2**63 - 1),)]


@avro.passes("Schema Resolution: float is promotable to double", "float becomes double, exactly.")
def avro_float(lake: Lake) -> None:
    table = lake.table("f FLOAT", (0.5,))
    alter(table, "ALTER COLUMN f TYPE DOUBLE")
    assert rows(table) == [(0.5,)]


@avro.differs(
    "Schema Resolution: string is promotable to bytes",
    "A string becomes bytes, and bytes become a string.",
    "neither does by ALTER; an import may read binaries as text.",
)
def avro_bytes(lake: Lake) -> None:
    table = lake.table("s STRING, b BINARY", ("x", b"\xff"))
    with refused("from STRING to BINARY"):
        alter(table, "ALTER COLUMN s TYPE BINARY")
    with refused("from BINARY to STRING"):
        alter(table, "ALTER COLUMN b TYPE STRING")
    lake.parquet("f.parquet", {"b": [b"text"]})
    assert rows(lake.imported("f.parquet", name="u", binary_as_string=True)) == [("text",)]


@avro.passes(
    "Schema Resolution: if both are arrays", "Elements of arrays are resolved as values are."
)
def avro_arrays(lake: Lake) -> None:
    table = lake.table("l ARRAY<INT>", ([1, None],))
    alter(table, "ALTER COLUMN l.element TYPE BIGINT")
    assert rows(table) == [([1, None],)]


@avro.passes("Schema Resolution: if both are maps", "Values of maps are resolved as values are.")
def avro_maps(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, INT>", ([("a", 1)],))
    alter(table, "ALTER COLUMN m.value TYPE BIGINT")
    assert rows(table) == [([("a", 1)],)]


@avro.passes(
    "Schema Resolution: if reader's is a union, but writer's is not",
    "A value that could not be null is read as one that can.",
)
def avro_nullable(lake: Lake) -> None:
    table = lake.table("a INT NOT NULL", (1,))
    alter(table, "ALTER COLUMN a DROP NOT NULL")
    assert rows(table) == [(1,)]


@avro.passes(
    "Schema Resolution: if writer's is a union, but reader's is not",
    "Values that may be null are read as required only if none is null.",
)
def avro_required(lake: Lake) -> None:
    table = lake.table("a INT", (1,), (None,))
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN a SET NOT NULL")
    table.delete([("a", "is null", None)])
    alter(table, "ALTER COLUMN a SET NOT NULL")
    assert rows(table) == [(1,)]


avro.not_applicable(
    "Schema Resolution: if both are unions",
    "A value is one of several types, and is resolved against the first type that fits.",
    "a column has one type; VARIANT holds values of several, which are not resolved.",
)


@avro.passes(
    "Schema Resolution: A schema's _doc_ fields are ignored", "A new comment changes no value."
)
def avro_doc(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    alter(table, "ALTER COLUMN a COMMENT 'text'")
    assert rows(table) == [(1,)]


@compatibility.passes(
    "validateSchemaPairMissingField", "A reader without one of the fields reads the others."
)
def avro_missing_field(lake: Lake) -> None:
    table = lake.table("f1 INT, f2 STRING", (1, "x"))
    alter(table, "DROP COLUMN f2")
    assert rows(table) == [(1,)]


@compatibility.passes(
    "validateSchemaNewFieldWithDefault", "A reader with a further field and a default reads all."
)
def avro_new_default(lake: Lake) -> None:
    table = lake.table("f1 INT", (1,))
    alter(table, "ADD COLUMN f2 INT DEFAULT 42")
    assert rows(table) == [(1, 42)]


@compatibility.passes("validateArrayWriterSchema", "An array of strings is none of integers.")
def avro_array_type(lake: Lake) -> None:
    with refused("from STRING to INT"):
        alter(lake.table("l ARRAY<STRING>", (["x"],)), "ALTER COLUMN l.element TYPE INT")
