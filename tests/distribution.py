"""Distribution of test files to the processes of a run: one of them runs Spark."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from jar import ROOT


@functools.cache
def uses_spark(file: str) -> bool:
    """Whether tests of a file use the session that the tests of a process share."""
    return "SparkSession" in Path(ROOT, file).read_text()


class SparkOnFirst(LoadFileScheduling):
    """Files that use Spark go to the first process, and others to the others, while there are any.

    A second JVM loads and compiles Spark once more, which takes as long as some thirty tests. The
    process that is one more than there are cores never starts one.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        spark = node is self.nodes[0]
        for file in self.workqueue:
            if uses_spark(file) is spark:
                self.workqueue.move_to_end(file, last=False)
                break
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        is_extra = node not in self.nodes[: os.cpu_count() or 1]
        if is_extra and self.workqueue and all(map(uses_spark, self.workqueue)):
            node.shutdown()
        else:
            super()._reschedule(node)
