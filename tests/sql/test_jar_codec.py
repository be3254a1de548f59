"""The jar's codec, and what the jar and Python must agree on: value texts, op types and limits.

Needs a JVM to run the jar's classes; ``test_protocol.py`` compares the two sides without one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog.limits import SCAN_SPLITS
from versioned_catalog.log import features as op_types
from versioned_catalog.read.planning import OPEN_COST_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
JVM = ROOT / "connector" / "jvm" / "versioned" / "spark"
WRITTEN = {"path": "p", "rows": 1, "bytes": 2, "partition": ["x", None], "footer": 0}
HASH = {"kind": "hash_key", "by": [{"column": ["a"], "transform": "bucket", "size": 4}]}
DISTRIBUTION = {"mode": "hash", "by": [HASH], "bytes": 1 << 40, "order_by": []}


@pytest.fixture
def recode(sql_spark: SparkSession) -> Any:
    """A function that has the jar parse a message and write it again."""
    java = sql_spark._jvm.versioned.spark.protocol  # type: ignore[union-attr]
    utilities = sql_spark._jvm.java.util  # type: ignore[union-attr]
    find = sql_spark._jvm.org.apache.spark.util.Utils.classForName  # type: ignore[union-attr]

    def recoded(name: str, value: object) -> Any:
        message = find(f"versioned.spark.protocol.{name}", True, False)
        tree, attached = java.Codec.tree(json.dumps(value)), utilities.ArrayList()
        attached.add(b"\x00\xff")
        again = utilities.ArrayList()
        text = java.Codec.text(java.Codec.parse(tree, message, attached, "the message"), again)
        assert [bytes(one) for one in again] == [b"\x00\xff"] * ("footer" in value)
        return json.loads(text)

    return recoded


@pytest.mark.parametrize(
    "name, value",
    [
        ("WrittenSegment", WRITTEN),
        ("Distribution", DISTRIBUTION),
        ("TypedValue", {"type": "integer", "value": None}),
        ("TypedValue", {"type": "decimal(3,1)", "value": [["1"], None]}),
    ],
)
def test_messages_round_trip(recode: Any, name: str, value: Any) -> None:
    assert recode(name, value) == value


@pytest.mark.parametrize(
    "name, value, problem",
    [
        ("WrittenSegment", {**WRITTEN, "more": 1}, "the member more is unknown"),
        ("WrittenSegment", {**WRITTEN, "rows": "1"}, "the member rows does not fit"),
        ("WrittenSegment", {**WRITTEN, "rows": 1.0}, "the member rows does not fit"),
        ("WrittenSegment", {**WRITTEN, "rows": None}, "the member rows does not fit"),
        ("WrittenSegment", {**WRITTEN, "footer": 1}, "the member footer does not fit"),
        ("WrittenSegment", {**WRITTEN, "footer": "AAE="}, "the member footer does not fit"),
        ("WrittenSegment", {**WRITTEN, "path": 1}, "the member path does not fit"),
        ("WrittenSegment", {**WRITTEN, "path": None}, "the member path does not fit"),
        ("WrittenSegment", {**WRITTEN, "path": True}, "the member path does not fit"),
        ("WrittenSegment", {**WRITTEN, "partition": "x"}, "the member partition does not fit"),
        ("Distribution", {**DISTRIBUTION, "by": [{"kind": "x"}]}, "the member by[0]"),
        ("Distribution", {**DISTRIBUTION, "by": [{**HASH, "by": [{}]}]}, "the member by[0].by[0]"),
        *(
            (
                "WrittenSegment",
                {k: v for k, v in WRITTEN.items() if k != gone},
                f"the member {gone} ",
            )
            for gone in WRITTEN
        ),
    ],
)
def test_invalid_messages_are_refused(recode: Any, name: str, value: Any, problem: str) -> None:
    with pytest.raises(Exception, match=r"the message: ") as caught:
        recode(name, value)
    assert problem in str(caught.value)
    assert "jar_path()" in str(caught.value)


TYPES = {
    "b": ("BOOLEAN", "true"),
    "i": ("TINYINT", "-128"),
    "s": ("SMALLINT", "-32768"),
    "n": ("INT", "-2147483648"),
    "l": ("BIGINT", "9223372036854775807"),
    "f": ("FLOAT", "float('-Infinity')"),
    "d": ("DOUBLE", "1e-300D"),
    "dec": ("DECIMAL(38,18)", "-12345678901234567890.123456789012345678BD"),
    "t": ("STRING", "'\u00e9\\n\"'"),
    "bin": ("BINARY", "X'00ff'"),
    "day": ("DATE", "DATE'0001-01-01'"),
    "ts": ("TIMESTAMP", "TIMESTAMP'1900-01-01 00:00:00.000001'"),
    "ntz": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"),
}
"""For each type, a literal whose value text could lose information."""


@pytest.mark.thorough
def test_value_texts_mean_the_same_to_the_jar_and_python(sql_spark: SparkSession, ns: str) -> None:
    """The jar writes the value texts of DEFAULTs and reads those of MIN and MAX."""
    table = f"versioned.{ns}.texts"
    columns = ", ".join(f"{c} {type_} DEFAULT {sql}" for c, (type_, sql) in TYPES.items())
    sql_spark.sql(f"CREATE TABLE {table} ({columns})")
    sql_spark.sql(f"INSERT INTO {table} VALUES ({', '.join('DEFAULT' for _ in TYPES)})")
    literals = ", ".join(f"CAST({sql} AS {type_}) AS {c}" for c, (type_, sql) in TYPES.items())
    (expected,) = sql_spark.sql(f"SELECT {literals}").collect()
    assert sql_spark.table(table).collect() == [expected]
    aggregated = [c for c in TYPES if c not in ("b", "bin", "t")]
    least = sql_spark.sql(
        f"SELECT {', '.join(f'MIN({c}) AS {c}' for c in aggregated)} FROM {table}"
    )
    assert "answer_0#" in least._jdf.queryExecution().toString()  # from metadata
    assert least.collect() == [tuple(expected[c] for c in aggregated)]


def test_constants_of_the_jar_and_python_agree() -> None:
    layout = (JVM / "write" / "DeltaLayout.java").read_text()
    assert dict(re.findall(r"byte (PUT|DELETE) = (\d);", layout)) == {
        "PUT": str(op_types.PUT_ROW),
        "DELETE": str(op_types.DELETE_ROW),
    }
    splits = (JVM / "scan" / "Splits.java").read_text()
    (most,) = re.findall(r"MAX_SPLITS = ([\d_]+);", splits)
    assert int(most) == SCAN_SPLITS


def test_the_open_cost_is_that_of_spark(sql_spark: SparkSession) -> None:
    cost = sql_spark.conf.get("spark.sql.files.openCostInBytes")
    assert cost in (f"{OPEN_COST_BYTES}b", "4MB", f"{OPEN_COST_BYTES // 1024 // 1024}MB")


@pytest.mark.parametrize(
    "sizes, target, open_cost, dealt",
    [
        ([], 10, 4, []),
        ([7], 10, 4, [0]),
        ([6, 6, 6, 6], 12, 0, [0, 1, 0, 1]),  # neighbours are apart
        ([9, 5, 4, 3, 3], 12, 0, [0, 1, 1, 0, 1]),
        ([6, 6, 6, 1, 1], 11, 0, [0, 1, 0, 1, 1]),  # 20 bytes: not a third partition
        ([40, 40, 40, 10], 60, 0, [0, 1, 2, 0]),
        ([1, 1, 1, 1], 10, 4, [0, 1, 0, 1]),  # 20 bytes with what opening costs
    ],
)
def test_the_jar_deals_splits_to_partitions(
    sql_spark: SparkSession, sizes: list[int], target: int, open_cost: int, dealt: list[int]
) -> None:
    """Each to the partition that has least, of as few as the target allows."""
    jvm, gateway = sql_spark._jvm, sql_spark.sparkContext._gateway
    assert jvm
    assert gateway
    given = gateway.new_array(jvm.long, len(sizes))
    for at, size in enumerate(sizes):
        given[at] = size
    assert list(jvm.versioned.spark.scan.Splits.deal(given, target, open_cost)) == dealt
