"""Replicate a table by AUTO CDC, a flow of Spark's pipelines, from its change feed.

``python run_pipeline.py WAREHOUSE STORAGE`` runs the pipeline once. This is a program because pipelines
need a Connect session.
"""

from __future__ import annotations

import sys
from typing import Any

from sql.run_statements import session


def define(spark: Any) -> None:
    from pyspark import pipelines

    @pipelines.temporary_view()
    def feed() -> Any:
        return spark.readStream.changes("versioned.n.source")

    pipelines.create_streaming_table("versioned.n.target")
    pipelines.create_auto_cdc_flow(
        target="versioned.n.target",
        source="feed",
        keys=["k"],
        sequence_by="_commit_version",
        apply_as_deletes="_change_type = 'delete'",
        except_column_list=["_change_type", "_commit_version", "_commit_timestamp"],
        stored_as_scd_type=1,
    )


def main(warehouse: str, storage: str) -> None:
    spark = session("connect", warehouse)
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import (
        SparkConnectGraphElementRegistry,
    )
    from pyspark.pipelines.spark_connect_pipeline import (
        create_dataflow_graph,
        handle_pipeline_events,
        start_run,
    )

    graph = create_dataflow_graph(spark, "versioned", "n", None)
    with graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)):
        define(spark)
    handle_pipeline_events(start_run(spark, graph, None, False, None, False, storage))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
