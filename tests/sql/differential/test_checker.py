"""The differential runner finds planted differences and counts what the queries do.

Needs a JVM because Spark runs both sides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from histories.naive import Field
from pairwise import most_at_night
from sql.differential.comparing import Failure, Result, difference
from sql.differential.histories import Step
from sql.differential.queries import Query
from sql.differential.running import Counts, Differs, run, shrink
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = (Field(1, "id", "int"), Field(2, "x", "double"))
ROWS = "SELECT * FROM VALUES (1, -0.0D), (2, double('NaN')), (2, double('NaN')) AS planted(id, x)"
CREATED = Step(0, "t", "CREATE TABLE @t (id INT, x DOUBLE)", f"{ROWS} WHERE false", FIELDS, ())
INSERTED = Step(1, "t", f"INSERT INTO @t {ROWS}", ROWS, FIELDS, ())
WHOLE = Query("whole", "SELECT * FROM @t", (), exact=True)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


PLANTED = {
    "a value": (ROWS.replace("(1,", "(3,"), FIELDS, "1 rows only in ours, 1 only in Parquet"),
    "a null": (ROWS.replace("(1,", "(null,"), FIELDS, "1 rows only in ours"),
    "a sign": (ROWS.replace("-0.0D", "0.0D"), FIELDS, "1 rows only in ours"),
    "a row less": (f"{ROWS} WHERE id = 1 OR x < 0", FIELDS, "2 rows only in ours"),
    "a row twice": (f"{ROWS} UNION ALL SELECT 1, -0.0D", FIELDS, "1 only in Parquet"),
    "a type": (ROWS, (replace(FIELDS[0], type="long"), FIELDS[1]), "columns: ours"),
    "a name": (ROWS, (replace(FIELDS[0], name="ID"), FIELDS[1]), "columns: ours"),
    "a statement that fails": ("SELECT 1/0, 1.0D", FIELDS, "Parquet fails"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("planted", most_at_night({"a row twice", "a type"}, PLANTED))
def test_a_planted_difference_is_found(
    session: SparkSession, catalog: Catalog, planted: str
) -> None:
    rows, fields, message = PLANTED[planted]
    created = replace(CREATED, fields=fields)
    with pytest.raises(Differs, match=message):
        run(
            session,
            catalog,
            [created, replace(INSERTED, rows=rows, fields=fields), WHOLE],
            Counts(),
        )


@pytest.mark.nightly
def test_queries_are_counted(session: SparkSession, catalog: Catalog) -> None:
    zero = Query("filtered", "SELECT id FROM @t WHERE x = 0", ())
    none = Query("filtered", "SELECT id FROM @t WHERE id = 9", ())
    fails = Query("failing", "SELECT id / (id - id) FROM @t", (("spark.sql.ansi.enabled", "true"),))
    other = [replace(zero, read_path=path) for path in ("io=python", "load")]
    counts = Counts()
    second = [replace(one, number=n, table="u") for n, one in [(2, CREATED), (3, INSERTED)]]
    second = [replace(one, statement=one.statement.replace("@t", "@u")) for one in second]
    run(session, catalog, [CREATED, INSERTED, *second, WHOLE, zero, none, fails, *other], counts)
    assert (counts.queries, counts.nonempty, counts.failed) == (6, 4, 1)
    assert (counts.scans, counts.pruned, counts.pushed) == (5, 1, 4)


@pytest.mark.nightly
def test_irrelevant_steps_are_dropped(session: SparkSession, catalog: Catalog) -> None:
    more = replace(INSERTED, number=2, rows=f"SELECT * FROM @t UNION ALL {ROWS}")
    wrong = replace(
        INSERTED, number=3, statement="DELETE FROM @t WHERE id = 1", rows="SELECT * FROM @t"
    )
    items = [CREATED, INSERTED, more, wrong, WHOLE]
    with pytest.raises(Differs) as found:
        run(session, catalog, items, Counts())
    assert found.value.at == 4
    assert shrink(session, catalog, items, 4) == [CREATED, INSERTED, wrong, WHOLE]


def test_results_and_failures_are_compared() -> None:
    rows = Result((("a", "int"),), Counter(["[1]"]))
    division, cast = (
        Failure("DIVIDE_BY_ZERO", "[DIVIDE_BY_ZERO] one"),
        Failure("CAST", "[CAST] two"),
    )
    assert difference(rows, rows) is None
    assert difference(division, replace(division, message="another")) is None
    for ours, plain in [(division, cast), (rows, cast), (cast, rows)]:
        assert difference(ours, plain) is not None
