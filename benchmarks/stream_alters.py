"""Stream a table while it is altered: versioned, Delta with and without schema tracking, and Iceberg.

A query copies rows to a checkpointed sink. In between, the table is altered and rows are written; each
row must arrive once, with the values that were written to the columns that the query reads. The script
counts restarts, what somebody has to do besides them, and wrong, lost and doubled rows. The engines run
on the newest Spark that they support, fetched as for ``peers_spark``.

A supervisor starts a failed query again with a new DataFrame and the same checkpoint, as an application
that is started again does. Only what is needed besides is a human step.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.peers_spark import DATA, ENGINES, HERE, in_own_process, session

Schema = dict[str, str]
"""The columns of the table at some time: what they are called, and which column that is."""

ATTEMPTS = 3
"""How often the supervisor starts a query that fails each time."""


@dataclass(frozen=True)
class Step:
    """Schema changes, and the rows that are written after them.

    Args:
        name: of the step, in the results.
        alters: what follows ``ALTER TABLE t``.
        schema: the columns afterwards, in order.
        wide: whether values of w need a BIGINT.
        early: what happens before, while the query is stopped: rows are written in the schema before.
    """

    name: str
    alters: tuple[str, ...]
    schema: Schema
    wide: bool = False
    early: bool = False


START = {"id": "id", "n": "n", "s": "s", "w": "w", "d": "d"}
RENAMED = {"id": "id", "n": "n", "host": "s", "w": "w", "d": "d"}
ADDED = {**RENAMED, "z": "z"}
DROPPED = {"id": "id", "n": "n", "host": "s", "w": "w", "z": "z"}
AGAIN = {"id": "id", "host": "s", "w": "w", "z": "z", "n": "another n"}
STOPPED = {"id": "id", "host": "s", "weight": "w", "n": "another n", "z": "another z"}

STEPS = [
    Step("start", (), START),
    Step("rename", ("RENAME COLUMN s TO host",), RENAMED),
    Step("add", ("ADD COLUMN z INT",), ADDED),
    Step("widen", ("ALTER COLUMN w TYPE BIGINT",), ADDED),
    Step("a value beyond INT", (), ADDED, wide=True),
    Step("drop", ("DROP COLUMN d",), DROPPED),
    Step("drop and add again", ("DROP COLUMN n", "ADD COLUMN n INT"), AGAIN),
    Step(
        "the same while stopped",
        ("RENAME COLUMN w TO weight", "DROP COLUMN z", "ADD COLUMN z INT"),
        STOPPED,
        early=True,
    ),
]
NUMBERS = ("n", "another n", "d", "z", "another z")
"""The columns that hold small numbers, which differ from column to column."""

ROWS = 3
"""Rows that a step writes."""


@dataclass
class Outcome:
    """What a step took, and what became of its rows."""

    step: str
    restarts: int = 0
    human: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    wrong: int = 0
    lost: int = 0
    doubled: int = 0


@dataclass(frozen=True)
class Way:
    """One way to stream: an engine and how its users set it up.

    Args:
        engine: a key of ``ENGINES``.
        options: of the reader; ``{checkpoint}`` stands for the folder of the checkpoint.
        setup: what is set before the start, beyond reading the table, as the results say it.
        help: what somebody does who reads an error: the condition, to a function that changes the job
            and says what it did.
    """

    engine: str
    options: dict[str, str] = field(default_factory=dict)
    setup: str = "nothing"
    help: dict[str, Callable[[Job, str], str]] = field(default_factory=dict)


@dataclass
class Job:
    """A query as its owner has set it up.

    Args:
        stage: the number of the step at which the running DataFrame was made.
        batches: the rows of each batch, with the schema in which they came, by checkpoint and number.
    """

    spark: Any
    table: str
    folder: Path
    options: dict[str, str]
    checkpoints: int = 0
    stage: int = 0
    query: Any = None
    batches: dict[tuple[str, int], list[tuple[Schema, dict[str, Any]]]] = field(
        default_factory=dict
    )

    @property
    def checkpoint(self) -> str:
        """The folder of the checkpoint."""
        return str(self.folder / f"checkpoint-{self.checkpoints}")

    def start(self, stage: int) -> None:
        """Start the query with a new DataFrame."""
        checkpoint, self.stage = self.checkpoint, stage
        reader = self.spark.readStream
        for name, value in self.options.items():
            reader = reader.option(name, value.format(checkpoint=checkpoint))
        frame = reader.table(self.table)

        def keep(batch: Any, number: int) -> None:
            schema = schema_of(batch.columns, stage)
            rows = [(schema, row.asDict()) for row in batch.collect()]
            self.batches[checkpoint, number] = rows

        writer = frame.writeStream.foreachBatch(keep)
        self.query = writer.option("checkpointLocation", checkpoint).start()

    def drain(self) -> str | None:
        """Wait until everything is read; return the error if the query failed."""
        try:
            self.query.processAllAvailable()
        except Exception as error:
            return str(error)
        return None

    def stop(self) -> None:
        """Stop the query."""
        if self.query is not None:
            self.query.stop()


def schema_of(names: list[str], stage: int) -> Schema:
    """The columns that a DataFrame has which was made at a step: those of that step, or older ones."""
    for step in reversed(STEPS[: stage + 1]):
        if list(step.schema) == names:
            return step.schema
    raise AssertionError(f"a DataFrame of the step {STEPS[stage].name} has the columns {names}")


# What people do who read errors


def new_checkpoint(job: Job, error: str) -> str:
    """Start from scratch, after the last schema change, so that no row is read twice."""
    history = job.spark.sql(f"DESCRIBE HISTORY {job.table}").collect()
    alter = next(row["version"] for row in history if row["operation"] != "WRITE")
    job.checkpoints += 1
    job.options["startingVersion"] = str(alter + 1)
    return "new checkpoint, startingVersion after the ALTER"


def unblock(job: Job, error: str) -> str:
    """Set the options that Delta's error names to go on after this change."""
    section = error.partition("just for this series of schema change(s)")[2]
    section = section.partition("To unblock for this particular stream:")[0]
    found = dict(re.findall(r'\.option\("(\w+)", "?(\w+)"?\)', section))
    assert found, error
    job.options.update(found)
    return "option " + ", ".join(f"{name} = {value}" for name, value in found.items())


RENAMES = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
TRACKING = {"schemaTrackingLocation": "{checkpoint}/_schema"}
ALLOWED = ("allowSourceColumnRename", "allowSourceColumnDrop", "allowSourceColumnTypeChange")
WAYS = {
    "versioned": Way("versioned"),
    "versioned, schemaMode = stop": Way(
        "versioned", {"schemaMode": "stop"}, "schemaMode = stop; `follow` restarts by itself"
    ),
    "Delta": Way("delta", help={RENAMES: new_checkpoint}),
    "Delta, schema tracking": Way(
        "delta",
        TRACKING,
        "schemaTrackingLocation",
        {"DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": unblock},
    ),
    "Delta, schema tracking, all changes allowed": Way(
        "delta",
        {**TRACKING, **dict.fromkeys(ALLOWED, "always")},
        "schemaTrackingLocation and three options",
    ),
    "Iceberg": Way("iceberg"),
}


# The run


def insert(job: Job, schema: Schema, ids: range, wide: bool) -> dict[int, dict[str, Any]]:
    """Write rows; return what they hold, by ID and by column."""
    rows = {}
    for number in ids:
        large = 2**40 if wide else 0
        values = {"id": number, "s": f"s{number}", "w": number * 1000 + large}
        numbers = {column: number * 10 + at for at, column in enumerate(NUMBERS)}
        rows[number] = {column: (values | numbers)[column] for column in schema.values()}
    texts = (", ".join(map(literal, row.values())) for row in rows.values())
    job.spark.sql(f"INSERT INTO {job.table} VALUES " + ", ".join(f"({text})" for text in texts))
    return rows


def literal(value: Any) -> str:
    """A value in SQL."""
    return f"'{value}'" if isinstance(value, str) else str(value)


def condition(error: str) -> str:
    """The name of an error: its condition, or the start of its text."""
    names = re.findall(r"\[([A-Z][A-Z_0-9.]+)\]", error)
    own = [
        name for name in names if name not in ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
    ]
    if own:
        return str(own[0])
    causes = re.findall(r"([\w.]+(?:Exception|Error): [^\n(]{1,90})", error)
    return str(causes[-1]) if causes else error[:120]


def supervise(job: Job, way: Way, stage: int, outcome: Outcome) -> None:
    """Read everything; start the query again where it fails, and help where that is not enough."""
    attempts = 0
    while (error := job.drain()) is not None:
        name, attempts = condition(error), attempts + 1
        outcome.errors.append(name)
        print(f"   {outcome.step}: {name}", file=sys.stderr, flush=True)
        if name in way.help and (attempts > 1 or outcome.restarts):
            outcome.human.append(way.help[name](job, error))
            attempts = 0
        elif attempts > ATTEMPTS:
            outcome.human.append("unknown: the query fails at each start")
            return
        outcome.restarts += 1
        begin(job, stage, outcome)


def begin(job: Job, stage: int, outcome: Outcome) -> None:
    """Start the query; an error in its analysis is one of the query."""
    try:
        job.start(stage)
    except Exception as error:
        outcome.errors.append(condition(str(error)))
        print(f"   {outcome.step}: {outcome.errors[-1]}", file=sys.stderr, flush=True)


def run(way: Way, spark: Any, table: str, properties: str, folder: Path) -> list[Outcome]:
    """Do all steps in one way."""
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE {table} (id BIGINT, n INT, s STRING, w INT, d INT) {properties}")
    job = Job(spark, table, folder, dict(way.options))
    written: list[dict[int, dict[str, Any]]] = []
    outcomes = []
    for stage, step in enumerate(STEPS):
        outcome, rows, first = Outcome(step.name), {}, 100 * stage
        if step.early:
            job.stop()
            before = STEPS[stage - 1].schema
            rows |= insert(job, before, range(first + 50, first + 50 + ROWS), step.wide)
        for alter in step.alters:
            spark.sql(f"ALTER TABLE {table} {alter}")
        rows |= insert(job, step.schema, range(first, first + ROWS), step.wide)
        if stage == 0 or step.early:
            job.start(stage)
        supervise(job, way, stage, outcome)
        outcome.seen = last_columns(job)
        written.append(rows)
        outcomes.append(outcome)
    job.stop()
    return judged(outcomes, written, job)


def last_columns(job: Job) -> list[str]:
    """The columns of the last row that arrived."""
    for rows in reversed(job.batches.values()):
        if rows:
            return list(rows[-1][0])
    return []


def judged(
    outcomes: list[Outcome], written: list[dict[int, dict[str, Any]]], job: Job
) -> list[Outcome]:
    """Compare what arrived with what was written."""
    arrived = [row for rows in job.batches.values() for row in rows]
    times = Counter(row["id"] for _, row in arrived)
    bad = {row["id"] for schema, row in arrived if not right(schema, row, written)}
    return [
        replace(
            outcome,
            wrong=len(bad & set(rows)),
            lost=sum(times[number] == 0 for number in rows),
            doubled=sum(times[number] > 1 for number in rows),
        )
        for outcome, rows in zip(outcomes, written, strict=True)
    ]


def right(schema: Schema, row: dict[str, Any], written: list[dict[int, dict[str, Any]]]) -> bool:
    """Whether a row holds what was written to the columns of the query, and null in others."""
    own = next(rows[row["id"]] for rows in written if row["id"] in rows)
    return all(row[name] == own.get(column) for name, column in schema.items())


def measure(engine: str) -> dict[str, Any]:
    """Run all ways of one engine, in this process."""
    spark, table = session(engine)
    for name in ("spark.sql.shuffle.partitions", "spark.databricks.delta.snapshotPartitions"):
        spark.conf.set(name, 2)
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    found: dict[str, Any] = {"spark": spark.version, "ways": {}}
    for number, (name, way) in enumerate(WAYS.items()):
        if way.engine == engine:
            folder = DATA / engine / f"job-{number}"
            print(f"== {name}", file=sys.stderr)
            ran = run(way, spark, f"{table}{number}", ENGINES[engine].properties, folder)
            found["ways"][name] = [vars(one) for one in ran]
    spark.stop()
    return found


# The table


def markdown(found: dict[str, Any]) -> str:
    """The results as two tables in Markdown."""
    names = [step.name for step in STEPS[1:]]
    lines = ["| set up | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    totals = [
        "| set up | before the start | restarts | human steps | wrong rows | lost | doubled |",
        "|---" * 7 + "|",
    ]
    for result in found.values():
        for name, outcomes in result["ways"].items():
            lines.append(f"| {name} | " + " | ".join(cell(one) for one in outcomes[1:]) + " |")
            sums = [sum(amount(one[key]) for one in outcomes) for key in COUNTED]
            totals.append(f"| {name} | {WAYS[name].setup} | " + " | ".join(map(str, sums)) + " |")
    return "\n".join([*totals, "", *lines])


COUNTED = ("restarts", "human", "wrong", "lost", "doubled")
"""The members of an outcome that the tables show."""


def amount(value: Any) -> int:
    """A number, or the length of a list."""
    return len(value) if isinstance(value, list) else int(value)


NOUNS = {
    "restarts": ("restart", "restarts"),
    "human": ("human step", "human steps"),
    "wrong": ("row wrong", "rows wrong"),
    "lost": ("row lost", "rows lost"),
    "doubled": ("row doubled", "rows doubled"),
}


def cell(outcome: dict[str, Any]) -> str:
    """What a step took, in a few words."""
    amounts = {key: amount(outcome[key]) for key in COUNTED}
    parts = [f"{many} {NOUNS[key][many > 1]}" for key, many in amounts.items() if many]
    return ", ".join(parts) or "–"


def main() -> None:
    """Print the table, and save what each engine did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, help="run this one alone, in this Python")
    options = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if options.engine:
        print(json.dumps(measure(options.engine)))
        return
    found = {name: in_own_process(name, "benchmarks.stream_alters") for name in ENGINES}
    (HERE / "results" / "stream_alters.json").write_text(json.dumps(found, indent=1) + "\n")
    print(markdown(found))


if __name__ == "__main__":
    main()
