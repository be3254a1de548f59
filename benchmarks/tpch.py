"""Compare the 22 TPC-H queries on altered tables with Iceberg, Delta and plain Parquet.

Between the four loads of every table, columns are renamed, widened, moved, added and dropped, so that
its segments have four schema versions; ``tpc`` has the rest. With ``--marks``, 1% of each table is
updated before the queries, with marks, merge on read and deletion vectors.
"""

from __future__ import annotations

from benchmarks.tpc import Columns, Suite, run


def _columns(text: str) -> dict[str, tuple[str, str]]:
    """Parse lines of ``name type [source]``."""
    parts = [line.split() for line in text.strip().splitlines()]
    return {name: (kind, source[0] if source else name) for name, kind, *source in parts}


TABLES = {
    "region": Columns(
        _columns("r_regionkey INT\nr_name STRING\nr_comment STRING"),
        (("ADD COLUMN r_extra INT",), ("DROP COLUMN r_extra",), ()),
    ),
    "nation": Columns(
        _columns("n_nationkey INT\nn_title STRING n_name\nn_regionkey INT\nn_comment STRING"),
        ((), ("RENAME COLUMN n_title TO n_name",), ()),
    ),
    "supplier": Columns(
        _columns(
            "s_suppkey INT\ns_name STRING\ns_address STRING\ns_nationkey INT\ns_phone STRING\n"
            "s_acctbal DECIMAL(12,2)\ns_remark STRING s_comment"
        ),
        (
            ("ALTER COLUMN s_suppkey TYPE BIGINT",),
            ("RENAME COLUMN s_remark TO s_comment",),
            ("ALTER COLUMN s_acctbal TYPE DECIMAL(15,2)",),
        ),
    ),
    "customer": Columns(
        _columns(
            "c_custkey INT\nc_name STRING\nc_address STRING\nc_nationkey INT\nc_tel STRING c_phone\n"
            "c_acctbal DECIMAL(12,2)\nc_mktsegment STRING\nc_comment STRING"
        ),
        (
            ("ALTER COLUMN c_custkey TYPE BIGINT",),
            ("RENAME COLUMN c_tel TO c_phone",),
            ("ALTER COLUMN c_acctbal TYPE DECIMAL(15,2)", "ALTER COLUMN c_mktsegment FIRST"),
        ),
    ),
    "part": Columns(
        _columns(
            "p_partkey INT\np_name STRING\np_mfgr STRING\np_brand STRING\np_kind STRING p_type\n"
            "p_size INT\np_container STRING\np_retailprice DECIMAL(12,2)\np_comment STRING"
        ),
        (
            ("ALTER COLUMN p_partkey TYPE BIGINT",),
            ("RENAME COLUMN p_kind TO p_type",),
            ("ALTER COLUMN p_brand FIRST",),
        ),
    ),
    "partsupp": Columns(
        _columns(
            "ps_partkey INT\nps_suppkey INT\nps_qty INT ps_availqty\nps_supplycost DECIMAL(12,2)\n"
            "ps_comment STRING"
        ),
        (
            ("ALTER COLUMN ps_partkey TYPE BIGINT", "ALTER COLUMN ps_suppkey TYPE BIGINT"),
            ("RENAME COLUMN ps_qty TO ps_availqty",),
            ("ALTER COLUMN ps_supplycost TYPE DECIMAL(15,2)",),
        ),
    ),
    "orders": Columns(
        _columns(
            "o_orderkey INT\no_custkey INT\no_orderstatus STRING\no_totalprice DECIMAL(12,2)\n"
            "o_date DATE o_orderdate\no_orderpriority STRING\no_clerk STRING\no_old INT 7\n"
            "o_comment STRING\no_shippriority INT"
        ),
        (
            ("ALTER COLUMN o_orderkey TYPE BIGINT", "ALTER COLUMN o_custkey TYPE BIGINT"),
            ("RENAME COLUMN o_date TO o_orderdate", "DROP COLUMN o_old"),
            ("ALTER COLUMN o_totalprice TYPE DECIMAL(15,2)", "ALTER COLUMN o_comment FIRST"),
        ),
    ),
    "lineitem": Columns(
        _columns(
            "l_orderkey INT\nl_partkey INT\nl_suppkey INT\nl_linenumber INT\n"
            "l_qty DECIMAL(12,2) l_quantity\nl_extendedprice DECIMAL(12,2)\n"
            "l_discount DECIMAL(15,2)\nl_tax DECIMAL(15,2)\nl_returnflag STRING\n"
            "l_linestatus STRING\nl_shipped DATE l_shipdate\nl_commitdate DATE\n"
            "l_receiptdate DATE\nl_shipinstruct STRING\nl_shipmode STRING\nl_comment STRING"
        ),
        (
            (
                "ALTER COLUMN l_orderkey TYPE BIGINT",
                "ALTER COLUMN l_partkey TYPE BIGINT",
                "ALTER COLUMN l_suppkey TYPE BIGINT",
            ),
            ("RENAME COLUMN l_qty TO l_quantity", "RENAME COLUMN l_shipped TO l_shipdate"),
            (
                "ALTER COLUMN l_quantity TYPE DECIMAL(15,2)",
                "ALTER COLUMN l_extendedprice TYPE DECIMAL(15,2)",
                "ALTER COLUMN l_shipmode FIRST",
            ),
        ),
    ),
}
"""The tables, in the order of loading."""


if __name__ == "__main__":
    run(Suite("tpch", "dbgen", lambda name, _: TABLES[name], {}, runs=5), __doc__)
