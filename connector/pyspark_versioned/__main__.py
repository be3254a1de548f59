"""The command line: ``python -m pyspark_versioned conf --warehouse /data/warehouse``."""

from __future__ import annotations

import argparse
import sys

from pyspark_versioned.jar import installed_jar
from pyspark_versioned.registering import catalog_conf
from versioned_catalog import VersionedError
from versioned_catalog.storage.secrets import WAY_OUT, is_secret

_WHY = {
    "spark.jars": "The jar that brings SQL and native scans. Append it to jars that are there.",
    "spark.sql.extensions": "Lets ALTER COLUMN SET NOT NULL through, and makes\n"
    '# spark.read.format("versioned") native.',
    "spark.pyspark.python": "The Python that has pyspark_versioned. Export it as PYSPARK_PYTHON, too:\n"
    "# while it plans, Spark looks for Python nowhere else.",
    "spark.sql.catalog.": "A catalog: SELECT * FROM <its name>.<namespace>.<table>. There may be any\n"
    "# number of them. Below it, the folder where its tables are. On Spark 4.1,\n"
    "# which has no views in catalogs, it is versioned.spark.VersionedCatalog.",
}


def conf_text(conf: dict[str, str]) -> str:
    """Settings as lines of ``spark-defaults.conf``, with comments."""
    lines: list[str] = []
    for key, value in conf.items():
        known = [why for start, why in _WHY.items() if key == start]
        known += [_WHY["spark.sql.catalog."]] if _is_catalog(key) else []
        lines += [f"# {why}" for why in known]
        lines.append(f"{key} {value}")
    return "\n".join(lines) + "\n"


def _is_catalog(key: str) -> bool:
    return key.startswith("spark.sql.catalog.") and key.count(".") == 3


def main() -> None:
    """Print the settings of this installation."""
    parser = argparse.ArgumentParser(prog="python -m pyspark_versioned")
    commands = parser.add_subparsers(required=True)
    conf = commands.add_parser("conf", help="print settings for spark-defaults.conf")
    conf.add_argument("--warehouse", required=True, help="the folder where the tables are")
    conf.add_argument("--catalog", default="versioned", help="what SQL calls it")
    conf.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what the file system is opened with; keep secrets out of it",
    )
    conf.add_argument("--jar", help="where Spark gets the jar, if not from this installation")
    given = parser.parse_args()
    storage = dict(option.split("=", 1) for option in given.storage_option)
    secret = next(filter(is_secret, storage), None)
    if secret is not None:
        sys.exit(f"the storage option {secret} is a secret, and would be shown; {WAY_OUT}")
    try:
        jar = given.jar or installed_jar()
        found = catalog_conf(given.warehouse, given.catalog, storage, jar)
    except VersionedError as error:
        sys.exit(str(error))
    sys.stdout.write(conf_text({**found, "spark.pyspark.python": sys.executable}))


if __name__ == "__main__":
    main()
