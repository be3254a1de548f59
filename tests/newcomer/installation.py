"""An environment with the wheel, dbt, a warehouse and Spark's settings."""

from __future__ import annotations

from pathlib import Path

from environments import Environment, build, run


class Installation:
    """An environment with the wheel, dbt, a warehouse and Spark's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = Environment.new(folder / "venv")
        wheel, _ = build(folder / "built")
        # The installation of newer dbt-core downloads a parser from GitHub.
        dbt = ("dbt-spark[session]", "dbt-core<1.12")
        self.environment.install(f"pyspark-versioned[spark] @ {wheel.as_uri()}", *dbt)
        self._write_settings()

    def run(self, *command: str | Path) -> str:
        return run(*command, cwd=self.folder, **self.settings)

    @property
    def settings(self) -> dict[str, str]:
        python = str(self.environment.python)
        return {"SPARK_CONF_DIR": str(self.folder / "conf"), "PYSPARK_PYTHON": python}

    def program(self, name: str) -> Path:
        return self.environment.folder / "bin" / name

    def _write_settings(self) -> None:
        arguments = ("-m", "pyspark_versioned", "conf", "--warehouse", self.folder / "warehouse")
        (self.folder / "warehouse").mkdir()
        conf = self.folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(
            run(self.environment.python, *arguments, cwd=self.folder)
            + "spark.sql.defaultCatalog versioned\n"
            + "spark.master local[2]\nspark.driver.memory 2g\nspark.ui.enabled false\n"
            + "spark.log.level ERROR\nspark.sql.shuffle.partitions 4\n"
            + "spark.sql.session.timeZone UTC\n"
            + "spark.hadoop.javax.jdo.option.ConnectionURL "
            + f"jdbc:derby:{self.folder}/metastore;create=true\n"
        )
