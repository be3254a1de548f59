"""An application that gets secrets in every supported way and runs everything that could print them.

Usage: run_secrets.py FOLDER SECRETS [WAREHOUSE], where SECRETS is a JSON object of storage options.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from pyspark_versioned import configure
from versioned_catalog import Catalog, Table


def show(act: Callable[[], Any]) -> None:
    """Print the result of a call as a user would see it, or its whole traceback."""
    try:
        found = act()
        print("SHOWN", repr(found)[:100_000])
    except Exception:
        import traceback

        traceback.print_exc(file=sys.stdout)


def explained(frame: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for mode in ("formatted", "extended"):
            frame.explain(mode=mode)
    return out.getvalue()


def main() -> None:
    folder, storage = Path(sys.argv[1]), json.loads(sys.argv[2])
    logging.basicConfig(level=logging.DEBUG)
    # At DEBUG, py4j logs every call between Python and Spark with its arguments; see docs/trust.md.
    logging.getLogger("py4j").setLevel(logging.INFO)
    where = sys.argv[3] if len(sys.argv) > 3 else str(folder / "w")
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", False)
        .config("spark.eventLog.enabled", True)
        .config("spark.eventLog.dir", f"file://{folder}/events")
        .config("spark.eventLog.compress", False)
        .config("spark.sql.warehouse.dir", str(folder / "spark"))
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={folder}/log4j2.xml")
    )
    (folder / "events").mkdir()
    spark = configure(builder, where, storage_options=storage).getOrCreate()
    catalog = Catalog(where, storage)
    catalog.create_namespace("n")
    table: Table = catalog.create_table("n.t", "a INT, k STRING", partitioned_by=["k"])
    table.append(pa.table({"a": pa.array([1], pa.int32()), "k": ["x"]}))
    options = {f"storage.{key}": str(value) for key, value in storage.items()}
    path = f"{where}/n/t"
    for statement in (
        *("SHOW TBLPROPERTIES versioned.n.t", "DESCRIBE EXTENDED versioned.n.t", "SET", "SET -v"),
        *(
            "SHOW CREATE TABLE versioned.n.t",
            "DESCRIBE NAMESPACE EXTENDED versioned.n",
            "SHOW CATALOGS",
        ),
        *(
            "INSERT INTO versioned.n.t VALUES (2, 'y')",
            "ALTER TABLE versioned.n.t ADD COLUMN b INT",
        ),
        *("UPDATE versioned.n.t SET a = 3 WHERE k = 'x'", "DELETE FROM versioned.n.t WHERE a = 9"),
        *("SELECT * FROM versioned.n.t VERSION AS OF 99", "SELECT nope FROM versioned.n.t"),
        *(
            "SELECT * FROM versioned.n.nope",
            "CREATE TABLE versioned.n.u (a INT) PARTITIONED BY (zz)",
        ),
        *(
            "SELECT * FROM versioned.n.t.history",
            "EXPLAIN FORMATTED DELETE FROM versioned.n.t WHERE a = 1",
        ),
    ):
        show(lambda statement=statement: spark.sql(statement).collect())
    for io_path in ("native", "python"):
        read = spark.read.format("versioned").options(**options, io=io_path)
        show(lambda read=read: explained(read.load(path)))
        show(lambda read=read: read.load(path).collect())
        show(lambda read=read: read.load(path + "x").collect())
        show(lambda read=read: read.option("nope", 1).load(path).collect())
    frame = spark.createDataFrame([(5, "z", 1)], "a INT, k STRING, b INT")
    for given in ({}, {"nope": "1"}, {"mergeSchema": "so"}):
        writer = frame.write.format("versioned").options(**options, **given).mode("append")
        show(lambda writer=writer: writer.save(path))
    show(lambda: frame.write.format("versioned").options(**options).save(path))
    wrong = spark.createDataFrame([("q",)], "a STRING").write.format("versioned").options(**options)
    show(lambda: wrong.mode("append").save(path))
    spark.sql(f"CREATE TEMPORARY VIEW v USING versioned OPTIONS (path '{path}', {_sql(options)})")
    show(lambda: spark.sql("DESCRIBE EXTENDED v").collect())
    show(lambda: spark.sql("SHOW CREATE TABLE v").collect())
    for segment in table.refresh().inspect.segments()["path"].to_pylist():
        table.store.overwrite(segment, b"damaged")
    for io_path in ("native", "python"):
        read = spark.read.format("versioned").options(**options, io=io_path)
        show(lambda read=read: read.load(path).collect())
    show(lambda: spark.table("versioned.n.t").collect())
    show(lambda: catalog.load_table("n.t").scan().to_arrow())
    for scheme in ("s3", "file", "gs", "memory"):
        url = f"{scheme}://user:{storage['secret']}@bucket/x"
        show(lambda url=url: Catalog(url))
        show(lambda url=url: configure(SparkSession.builder, url, "other"))
    show(lambda: [catalog, table, table.store, table.store.location, table.scan(), table.state])
    spark.stop()


def _sql(options: dict[str, str]) -> str:
    return ", ".join(f"`{key}` '{value}'" for key, value in options.items())


if __name__ == "__main__":
    main()
