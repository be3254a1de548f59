"""Register versioned catalogs with Spark, however it is started."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_versioned.jar import jar_path
from versioned_catalog import InvalidRequestError
from versioned_catalog.storage.opening import ROOT_OPTION, Roots, with_roots
from versioned_catalog.storage.secrets import check_url

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG_CLASS = "versioned.spark.VersionedRelationCatalog"
CATALOG_CLASS_OF_4_1 = "versioned.spark.VersionedCatalog"
"""The catalog without views, which Spark 4.1 can load."""

EXTENSIONS_CLASS = "versioned.spark.VersionedExtensions"
_JARS = "spark.jars"
_EXTENSIONS = "spark.sql.extensions"
_REDACTION = "spark.redaction.regex"

_OF_SERVER = (_JARS, _EXTENSIONS)
"""Settings that only the start of Spark can make, or of a Connect server."""

HIDDEN_KEYS = r"(?i)secret|password|token|access[.]?key|(?:^|[.]catalog[.]\w+[.])storage[.]"
"""Settings and options whose values Spark hides: those it does by itself, and ``storage.<option>``."""


def configure(
    builder: SparkSession.Builder,
    warehouse: str | os.PathLike[str],
    catalog: str = "versioned",
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
) -> SparkSession.Builder:
    """Register a catalog of versioned tables with a session that is being built.

    May be called again for another catalog. Jars and extensions that are configured already stay.

    Args:
        builder: ``SparkSession.builder``, classic or Connect's.
        warehouse: the folder of the tables: a path or a URL.
        catalog: the catalog's name in SQL: ``SELECT * FROM <catalog>.<namespace>.<table>``.
        storage_options: options of the file system. Rather leave secrets out, and provide them by the
            environment, a profile or the machine's role.
        roots: external roots by name, as for ``versioned_catalog.Catalog``.

    Returns:
        The builder.

    Raises:
        InvalidRequestError: the catalog's name can't be one.
        JarMissing: this installation has no jar.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    of_builder = {
        key: str(value) for key, value in getattr(builder, "_options", {}).items() if value
    }
    configured = spark_defaults() | of_builder
    options = with_roots(storage_options, roots)
    added = _added(catalog_conf(warehouse, catalog, options), configured)
    for key, value in _settable(
        added, configured.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")
    ):
        builder.config(key, value)
    return builder


def catalog_conf(
    warehouse: str | os.PathLike[str],
    catalog: str = "versioned",
    storage_options: Mapping[str, Any] | None = None,
    jar: str | None = None,
) -> dict[str, str]:
    """The settings that register a catalog. See ``configure``.

    The argument ``jar`` is the path of a copy of the jar, such as one on a cluster's own storage; by
    default, the path of this installation's jar.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", catalog):
        raise InvalidRequestError(
            f"{catalog!r} can't be a catalog's name; use letters, digits and underscores"
        )
    check_url(os.fspath(warehouse))
    name = f"spark.sql.catalog.{catalog}"
    storage = {_setting(name, k): str(v) for k, v in (storage_options or {}).items()}
    return {
        _JARS: jar_path() if jar is None else jar,
        _EXTENSIONS: EXTENSIONS_CLASS,
        name: catalog_class(),
        f"{name}.warehouse": _absolute(os.fspath(warehouse)),
        **({_REDACTION: HIDDEN_KEYS} if storage else {}),
        **storage,
    }


def _setting(catalog: str, option: str) -> str:
    """The setting of a storage option. The URL of a root is shown, its options are hidden."""
    is_url = option.startswith(ROOT_OPTION) and "." not in option.removeprefix(ROOT_OPTION)
    return f"{catalog}.{option}" if is_url else f"{catalog}.storage.{option}"


def _settable(conf: Mapping[str, str], remote: str) -> Iterable[tuple[str, str]]:
    """The settings that a session accepts; those of a Connect client are fewer."""
    if remote.startswith("sc://"):
        return [pair for pair in conf.items() if pair[0] not in _OF_SERVER]
    if remote and "SPARK_LOCAL_REMOTE" not in os.environ:
        # Connect's client starts a server with these settings, then sets them in the session as well,
        # and warns of each that a session does not accept.
        keys = "|".join(re.escape(key) for key in (*_OF_SERVER, _REDACTION))
        warnings.filterwarnings("ignore", rf"Failed to set ({keys}) to ", UserWarning)
    return conf.items()


def catalog_class() -> str:
    """The catalog's class for the installed PySpark; since Spark 4.2, the one with views."""
    try:
        installed = version("pyspark")
    except PackageNotFoundError:  # by SPARK_HOME, or a client alone
        import pyspark

        installed = pyspark.__version__
    return CATALOG_CLASS_OF_4_1 if installed.startswith("4.1.") else CATALOG_CLASS


def _absolute(warehouse: str) -> str:
    if "://" in warehouse:
        return warehouse
    return os.path.abspath(os.path.expanduser(warehouse))


def spark_defaults() -> dict[str, str]:
    """The settings of ``spark-defaults.conf``; those of a builder take precedence."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    path = Path(folder or os.devnull) / "spark-defaults.conf"
    if not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text("utf-8", "replace").splitlines())
    pairs = (re.split(r"[\s=:]+", line, maxsplit=1) for line in lines if line[:1] not in ("#", ""))
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _added(conf: Mapping[str, str], configured: Mapping[str, str]) -> dict[str, str]:
    """The settings, with lists appended to what is configured already."""
    lists = {key: _appended(configured.get(key, ""), conf[key]) for key in (_JARS, _EXTENSIONS)}
    redaction = configured.get(_REDACTION, "")
    if _REDACTION in conf and redaction not in ("", HIDDEN_KEYS):
        lists[_REDACTION] = redaction if HIDDEN_KEYS in redaction else f"{redaction}|{HIDDEN_KEYS}"
    return {**conf, **lists}


def _appended(configured: str, value: str) -> str:
    parts = [part.strip() for part in configured.split(",") if part.strip()]
    return ",".join(parts if value in parts else [*parts, value])
