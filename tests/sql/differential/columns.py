"""Random columns: their types, their values as SQL, and the conversion of values by an ALTER."""

from __future__ import annotations

from random import Random
from typing import Any

from histories.drive import ddl, quoted
from histories.naive import Field, Type, inner

LONG = "x" * 70

TEXTS: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "byte": ["-128", "0", "5", "7", "127"],
    "short": ["-32768", "0", "5", "7", "300"],
    "int": ["-2147483648", "0", "5", "6", "7", "300", "2147483647"],
    "long": ["-9223372036854775808", "0", "5", "6", "300", "9007199254740993"],
    "float": ["NaN", "-0.0", "0.0", "0.5", "-1.25", "5", "Infinity"],
    "double": ["NaN", "-0.0", "0.0", "0.5", "-1.25", "5", "10000000000", "-Infinity"],
    "decimal(5,2)": ["5.00", "-0.01", "0.00", "999.99", "0.50"],
    "decimal(12,2)": ["5.00", "-0.01", "0.00", "9999999999.99", "0.50"],
    "decimal(24,4)": ["5.0000", "0.5000", "-0.0100", "12345678901234567890.1234"],
    "string": ["", "a", "A", "ab", "5", "zoë", "\U0001f600", "a  ", LONG + "a", LONG + "b"],
    "char(3)": ["abc", "a", "", "5"],
    "varchar(5)": ["abcde", "", "a", "a  ", "ab"],
    "binary": ["", "a", "ab", "ÿ", LONG],
    "date": [
        "0001-01-03",
        "1500-02-28",
        "1582-10-04",
        "1582-10-10",
        "1582-10-15",
        "1969-12-31",
        "1970-01-01",
        "2024-02-29",
        "2024-03-10",
        "9999-12-28",
    ],
    "timestamp": [
        "0001-01-03 00:00:00 UTC",
        "1582-10-10 12:00:00 UTC",
        "1883-11-18 17:00:00 UTC",
        "1969-12-31 23:59:59.000005 UTC",
        "1970-01-01 00:00:00 UTC",
        "2024-02-29 00:00:00 UTC",
        "2024-03-10 06:59:59.999999 UTC",
        "2024-03-10 07:00:00 UTC",
        "2024-11-03 05:30:00 UTC",
    ],
    "timestamp_ntz": [
        "0001-01-03 00:00:00",
        "1582-10-10 12:00:00",
        "1969-12-31 23:59:59.000005",
        "1970-01-01 00:00:00",
        "2024-02-29 00:00:00",
        "2024-03-10 02:30:00",
        "9999-12-28 23:59:59.999999",
    ],
    "time(6)": ["00:00:00", "12:30:00", "23:59:59.999999"],
    "interval day to second": ["0 00:00:00", "1 00:00:00", "-3 00:00:00.000001"],
    "variant": ["null", "5", '"a"', '{"a": 5, "b": [1, null]}', "[1.5, true]"],
}
"""Values of each type, as the text of a literal."""

WIDER: dict[str, list[str]] = {
    "byte": ["short", "int", "long", "double", "decimal(12,2)"],
    "short": ["int", "long", "double", "decimal(12,2)"],
    "int": ["long", "double", "decimal(12,2)", "decimal(24,4)"],
    "long": ["decimal(24,4)"],
    "float": ["double"],
    "decimal(5,2)": ["decimal(12,2)", "decimal(24,4)"],
    "decimal(12,2)": ["decimal(24,4)"],
    "date": ["timestamp_ntz"],
    "char(3)": ["varchar(5)", "string"],
    "varchar(5)": ["string"],
}

FAMILIES = {
    "byte": "int",
    "short": "int",
    "long": "int",
    "float": "double",
    "decimal(5,2)": "decimal",
    "decimal(12,2)": "decimal",
    "decimal(24,4)": "decimal",
    "char(3)": "string",
    "varchar(5)": "string",
}

PLAIN = [name for name in TEXTS if name != "variant"]
KEYS = ["int", "long", "string", "date", "decimal(12,2)", "binary"]
NAMES = ["a", "B", "c", "d", "e2", "Größe", "x y", "d.e", "select", "n", "m"]
FIELDS = ["x", "Y", "z_z", "w"]  # no space: Spark cannot read a CHAR or VARCHAR back below `z z`


def family(type_: Type) -> str:
    """The family of types that are comparable with a type; the kind of a nested type."""
    return FAMILIES.get(type_, type_) if isinstance(type_, str) else str(type_[0])


def random_type(random: Random, keys: Any, depth: int = 2) -> Type:
    drawn = random.random()
    if depth == 0 or drawn < 0.72:
        return random.choice(PLAIN)
    if drawn < 0.75:
        return "variant"
    match random.choice(["struct", "struct", "array", "map"]):
        case "struct":
            names = random.sample(FIELDS, random.randint(1, 3))
            return (
                "struct",
                tuple(Field(next(keys), n, random_type(random, keys, depth - 1)) for n in names),
            )
        case "array":
            return ("array", Field(next(keys), "element", random_type(random, keys, depth - 1)))
        case _:
            key = Field(next(keys), "key", random.choice(["string", "int"]), nullable=False)
            return ("map", key, Field(next(keys), "value", random_type(random, keys, depth - 1)))


def text(value: str) -> str:
    """Render a string as a SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: str, type_: str) -> str:
    """Render a value of a leaf type as SQL."""
    if type_ == "variant":
        return f"parse_json({text(value)})"
    if type_.startswith(("char", "varchar")):
        return text(value)
    return f"CAST({text(value)} AS {type_})"


def random_value(random: Random, type_: Type, nulls: float = 0.15) -> str:
    """A random value as SQL, null with the probability ``nulls``."""
    if random.random() < nulls:
        return f"CAST(NULL AS {ddl(type_)})"
    if isinstance(type_, str):
        return literal(random.choice(TEXTS[type_]), type_)
    if type_[0] == "struct":
        parts = ", ".join(f"{text(f.name)}, {random_value(random, f.type)}" for f in type_[1])
        return f"named_struct({parts})"
    count = random.choice([0, 1, 2, 3])
    if type_[0] == "array":
        items = ", ".join(random_value(random, type_[1].type) for _ in range(count))
        return f"CAST(array({items}) AS {ddl(type_)})"
    chosen = random.sample(TEXTS[type_[1].type], count)
    pairs = ", ".join(
        f"{literal(k, type_[1].type)}, {random_value(random, type_[2].type)}" for k in chosen
    )
    return f"CAST(map({pairs}) AS {ddl(type_)})"


def converted(expression: str, old: Type, new: Type) -> str:
    """Render the conversion of a value that an ALTER of its type implies, field by field."""
    if old == new or new in ("string", "varchar(5)"):
        return expression
    if isinstance(new, str):
        return f"CAST({expression} AS {new})"
    if new[0] == "struct":
        parts = ", ".join(f"{text(f.name)}, {_of(expression, f, old)}" for f in new[1])
        return f"IF({expression} IS NULL, NULL, named_struct({parts}))"
    if new[0] == "array":
        return f"transform({expression}, item -> {converted('item', old[1].type, new[1].type)})"
    inside = converted("item", old[2].type, new[2].type)
    return f"transform_values({expression}, (_, item) -> {inside})"


def _of(expression: str, field: Field, old: Type) -> str:
    before = next((f for f in inner(old) if f.key == field.key), None)
    if before is None:
        return shown_default(field)
    return converted(f"{expression}.{quoted(before)}", before.type, field.type)


def shown_default(field: Field) -> str:
    """The value of a column in rows that are older than the column."""
    return field.read_default or f"CAST(NULL AS {ddl(field.type)})"


def declared(fields: tuple[Field, ...], *, nullability: bool) -> str:
    """Render columns as DDL."""
    return ", ".join(
        f"{quoted(f)} {ddl(f.type)}{' NOT NULL' if nullability and not f.nullable else ''}"
        for f in fields
    )
