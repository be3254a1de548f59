"""Situations of statements and streams in Spark, which other tests of ours run."""

from __future__ import annotations

from conformance.registry import Situation, Source

SITUATIONS: list[Situation] = []
EXTENSIONS = "spark/v4.1/spark-extensions/src/test/java/org/apache/iceberg/spark/extensions/{}.java"
merges = Source("iceberg", EXTENSIONS.format("TestMerge"), SITUATIONS)
deletes = Source("iceberg", EXTENSIONS.format("TestDelete"), SITUATIONS)
streams = Source(
    "delta",
    "spark/src/test/scala/org/apache/spark/sql/delta/DeltaSourceSchemaEvolutionSuite.scala",
    SITUATIONS,
)
ROW_TRAPS = "tests/sql/test_row_traps.py::"
ISOLATION = f"{ROW_TRAPS}test_a_statement_that_reads_its_own_table_conflicts_with_new_rows"
ALTERS = "tests/stream/test_alters.py::"

merges.tested_by(
    "testSelfMerge",
    "A MERGE of a table into itself reads the rows of before it.",
    f"{ROW_TRAPS}test_a_merge_of_a_table_into_itself",
)
deletes.tested_by(
    "testDeleteWithoutScanningTable",
    "A DELETE of whole partitions reads no file.",
    f"{ROW_TRAPS}test_a_delete_of_whole_segments_reads_no_segment",
)
deletes.tested_by(
    "testDeleteWithSerializableIsolation",
    "A serializable DELETE fails if rows came that it would have read.",
    ISOLATION,
)
deletes.tested_by(
    "testDeleteWithSnapshotIsolation",
    "A DELETE under snapshot isolation is committed although rows came that it would have read.",
    ISOLATION,
)
deletes.tested_by(
    "testDeleteWithExistSubquery",
    "A DELETE by EXISTS with a subquery that names columns of the table.",
    "tests/sql/test_subqueries.py::test_changes_by_correlated_subqueries",
)
streams.tested_by(
    "detect incompatible schema change while streaming",
    "A stream without a schema log fails at the first rename.",
    f"{ALTERS}test_a_stream_goes_on_in_the_schema_of_its_start",
    "it goes on in the schema of its start, through renames, drops and wider types.",
)
streams.tested_by(
    "consecutive schema evolutions",
    "A stream with a schema log ends at each change of the schema, and goes on when it is restarted.",
    f"{ALTERS}test_rows_between_two_alters_have_their_own_schema",
    "it goes on through several changes; rows in between are read by the schema that they have.",
)
