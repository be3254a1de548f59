"""The command line: ``python -m pyspark_versioned conf --warehouse /data/warehouse``, and ``dbt``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pyspark_versioned.jar import installed_jar
from pyspark_versioned.registering import catalog_conf
from versioned_catalog import VersionedError
from versioned_catalog.storage.secrets import CREDENTIALS_ADVICE, is_secret

DBT_PACKAGE = Path(__file__).parent / "dbt"
"""The dbt package, with the macros that dbt-spark needs for versioned tables (``docs/dbt.md``)."""

_WHY = {
    "spark.jars": "The jar for SQL and native scans. Append it to other jars, if there are any.",
    "spark.sql.extensions": "Allows ALTER COLUMN SET NOT NULL, and makes\n"
    '# spark.read.format("versioned") native.',
    "spark.pyspark.python": "A Python with pyspark_versioned. Also export it as PYSPARK_PYTHON, since\n"
    "# Spark does not read this setting while it plans a query.",
    "spark.sql.catalog.": "A catalog: SELECT * FROM <catalog>.<namespace>.<table>. There can be many.\n"
    "# The next setting is the folder of its tables. On Spark 4.1, which has no views\n"
    "# in catalogs, the class is versioned.spark.VersionedCatalog.",
}


def conf_text(conf: dict[str, str]) -> str:
    """Format settings as lines of ``spark-defaults.conf``, with comments."""
    lines: list[str] = []
    for key, value in conf.items():
        comments = [why for start, why in _WHY.items() if key == start]
        comments += [_WHY["spark.sql.catalog."]] if _is_catalog(key) else []
        lines += [f"# {why}" for why in comments]
        lines.append(f"{key} {value}")
    return "\n".join(lines) + "\n"


def _is_catalog(key: str) -> bool:
    return key.startswith("spark.sql.catalog.") and key.count(".") == 3


def main() -> None:
    """Print the settings of this installation, or the ``packages.yml`` of a dbt project."""
    parser = argparse.ArgumentParser(prog="python -m pyspark_versioned")
    commands = parser.add_subparsers(required=True)
    conf = commands.add_parser("conf", help="print settings for spark-defaults.conf")
    conf.add_argument("--warehouse", required=True, help="folder of the tables")
    conf.add_argument("--catalog", default="versioned", help="name of the catalog in SQL")
    conf.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the file system; must not be a secret",
    )
    conf.add_argument("--jar", help="path of the jar, if not that of this installation")
    conf.set_defaults(run=_print_conf)
    dbt = commands.add_parser("dbt", help="print a packages.yml with the dbt package")
    dbt.set_defaults(run=_print_packages)
    checkup = commands.add_parser(
        "checkup", help="print what versioned doctor shows of Spark, as JSON"
    )
    checkup.set_defaults(run=_print_checkup)
    arguments = parser.parse_args()
    arguments.run(arguments)


def _print_checkup(_: argparse.Namespace) -> None:
    from pyspark_versioned.checkup import to_json

    sys.stdout.write(to_json() + "\n")


def _print_packages(_: argparse.Namespace) -> None:
    if not DBT_PACKAGE.is_dir():
        sys.exit(
            f"there is no folder {DBT_PACKAGE}; install the wheel: dbt reads no package in a zip"
        )
    sys.stdout.write(f"packages:\n  - local: {json.dumps(str(DBT_PACKAGE))}\n")


def _print_conf(arguments: argparse.Namespace) -> None:
    storage = dict(option.split("=", 1) for option in arguments.storage_option)
    secret = next(filter(is_secret, storage), None)
    if secret is not None:
        sys.exit(
            f"the storage option {secret} is a secret, and would be shown; {CREDENTIALS_ADVICE}"
        )
    try:
        jar = arguments.jar or installed_jar()
        settings = catalog_conf(arguments.warehouse, arguments.catalog, storage, jar)
    except VersionedError as error:
        sys.exit(str(error))
    sys.stdout.write(conf_text({**settings, "spark.pyspark.python": sys.executable}))


if __name__ == "__main__":
    main()
