"""An Airflow DAG that waits until a table has versions that its consumer has not read, and copies them.

The consumer is an entry of the table, so expiry keeps what this DAG has not read yet, and anybody can
see how far it is: ``table.inspect.consumers()``. It needs Airflow 3, and pyspark-versioned beside it.

In Airflow's folder of DAGs, it runs every hour; ``airflow dags test copy_orders`` runs it once.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue, dag, get_current_context, task

import versioned_catalog as vc

SOURCE = os.environ.get("SOURCE", "warehouse/orders")
TARGET = os.environ.get("TARGET", "warehouse/orders_copy")
CONSUMER = "airflow_copy"


class NewVersions(BaseSensorOperator):
    """Waits for commits that changed rows since a consumer has last moved.

    Pushes ``start`` and ``end`` as the result: the versions to read, both included.
    """

    def __init__(self, *, path: str, consumer: str, **options: Any) -> None:
        super().__init__(**options)
        self.path = path
        self.consumer = consumer

    def poke(self, context: Any) -> PokeReturnValue:
        table = vc.open(self.path)
        consumers = {row["name"]: row for row in table.inspect.consumers().to_pylist()}
        if self.consumer not in consumers:
            return PokeReturnValue(True, {"start": 0, "end": table.version})
        consumer = consumers[self.consumer]
        unread = {"start": consumer["version"] + 1, "end": table.version}
        return PokeReturnValue(consumer["versions_behind"] > 0, unread)


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def copy_orders() -> None:
    new = NewVersions(
        task_id="new_versions", path=SOURCE, consumer=CONSUMER, mode="reschedule", poke_interval=60
    )

    @task
    def copy(versions: dict[str, int]) -> int:
        """Apply the changes to the copy; a batch is applied once, however often the task runs."""
        source, copied = vc.open(SOURCE), vc.open(TARGET)
        changes = source.changes(versions["start"], versions["end"], net=True)
        return copied.apply_changes(changes.to_arrow(), batch=(CONSUMER, versions["end"]))

    @task
    def move() -> int:
        """Record what was read, when the copy has it."""
        versions = get_current_context()["ti"].xcom_pull(task_ids="new_versions")
        return vc.open(SOURCE).move_consumer(CONSUMER, versions["end"])

    copy(new.output) >> move()


copy_orders()
