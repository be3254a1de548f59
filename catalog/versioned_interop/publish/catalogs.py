"""Catalogs of PyIceberg: where the entry of a table points, and how it is moved to a later file.

The metadata files stay ours: a catalog gets their locations, and writes none of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn, Protocol

from versioned_catalog.errors import InvalidRequestError, StorageError, VersionedError
from versioned_catalog.interop import optional_import
from versioned_catalog.model.iceberg import PUBLISH_CATALOG
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.storage.secrets import is_secret

_EXTRAS: Mapping[str, str] = {
    "rest": "",
    "sql": "'pyiceberg[sql-sqlite]' or 'pyiceberg[sql-postgres]'",
    "hive": "'pyiceberg[hive]'",
    "glue": "'pyiceberg[glue]'",
}
"""The types of catalogs in which tables are registered, and what PyIceberg needs for them."""

_SHOWN = 300
"""How many characters of an error of a catalog are shown."""


class Entries(Protocol):
    """The entries of a catalog.

    Args:
        compares: whether ``move`` leaves an entry alone that was moved since it was read.
    """

    compares: bool

    def location(self, table: ColumnPath) -> str | None:
        """The metadata file that an entry names; None if there is no entry."""

    def add(self, table: ColumnPath, location: str) -> bool:
        """Add an entry, and its namespace; False if there is one."""

    def move(self, table: ColumnPath, before: str, location: str) -> bool:
        """Point an entry to another file; False if it was moved since it was read."""

    def remove(self, table: ColumnPath) -> None:
        """Remove an entry if there is one; no file is deleted."""


def check_catalog(name: object) -> None:
    """Check that a catalog can be opened in this process, without a connection to it.

    Raises:
        InvalidRequestError: PyIceberg, a library of its, or the configuration of the catalog is missing.
    """
    if isinstance(name, str) and name.strip():
        _configured(name)


@contextmanager
def opened(name: str) -> Iterator[Entries]:
    """Open a catalog by its name in PyIceberg's configuration, which is read anew.

    Raises:
        InvalidRequestError: PyIceberg, a library of its, or the configuration of the catalog is missing.
        StorageError: the catalog failed, now or in the block.
    """
    kind, configuration = _configured(name)
    module = _pyiceberg("pyiceberg.catalog")
    try:
        with module.load_catalog(name, **configuration) as catalog:
            yield _Rest(catalog) if kind == "rest" else _Metastore(catalog)
    except VersionedError:
        raise
    except Exception as error:
        raise StorageError(
            f"the catalog {name!r} ({kind}) failed: {shown_error(error, configuration)}"
        ) from None


def _pyiceberg(module: str) -> Any:
    return optional_import(
        module, f"the property {PUBLISH_CATALOG}", "'pyspark-versioned[iceberg]'"
    )


def _configured(name: str) -> tuple[str, dict[str, Any]]:
    """The type of a catalog and its configuration."""
    catalogs, config = _pyiceberg("pyiceberg.catalog"), _pyiceberg("pyiceberg.utils.config")
    try:
        read = config.Config()
        configuration, known = read.get_catalog_config(name), read.get_known_catalogs()
    except Exception as error:
        raise InvalidRequestError(
            f"the catalog {name!r} (property {PUBLISH_CATALOG}): PyIceberg's configuration can't be "
            f"read: {type(error).__name__}; correct .pyiceberg.yaml",
            condition="INVALID_OPTION",
        ) from None
    if configuration is None:
        others = f" has {', '.join(sorted(known))}" if known else " has no catalogs"
        variable = name.upper().replace("-", "_")
        raise InvalidRequestError(
            f"the catalog {name!r} (property {PUBLISH_CATALOG}) is not configured: PyIceberg's "
            f"configuration on this machine{others}; add it to ~/.pyiceberg.yaml, or set "
            f"PYICEBERG_CATALOG__{variable}__URI and such, wherever the table is written",
            condition="INVALID_OPTION",
        )
    kind = configuration.get("type")
    if kind is None:
        try:
            kind = catalogs.infer_catalog_type(name, configuration).value
        except ValueError:
            kind = "not given"
    kind = str(kind).lower()
    if kind not in _EXTRAS:
        raise InvalidRequestError(
            f"the catalog {name!r} (property {PUBLISH_CATALOG}): its type is {kind}, and tables are "
            f"registered in catalogs of the types {', '.join(_EXTRAS)}; correct its type and uri in "
            "PyIceberg's configuration",
            condition="NOT_SUPPORTED",
        )
    try:
        import_module(f"pyiceberg.catalog.{kind}")
    except ImportError as error:
        raise InvalidRequestError(
            f"the catalog {name!r} (property {PUBLISH_CATALOG}) is of the type {kind}, which needs "
            f"{error.name}: pip install {_EXTRAS[kind]}"
        ) from None
    return kind, dict(configuration)


def shown_error(error: Exception, configuration: Mapping[str, Any]) -> str:
    """The first line of an error of a catalog, without secrets of its configuration."""
    text = f"{type(error).__name__}: {error}"
    for key, value in configuration.items():
        if is_secret(str(key)) or (key == "uri" and "@" in str(value)):
            text = text.replace(str(value), "***")
    line = text.strip().splitlines()[0]
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


class _Found(Exception):
    """A metadata file that is about to be read."""


class LocationIO:
    """A FileIO of PyIceberg that reads nothing: it raises the location of what was to be read."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def new_input(self, location: str) -> NoReturn:
        """Raise the location."""
        raise _Found(location)


_IO = "py-io-impl"
_LOCATION_IO = f"{LocationIO.__module__}.{LocationIO.__qualname__}"


class _Metastore:
    """A SQL, Hive or Glue catalog, which keeps the location of the newest metadata file.

    PyIceberg compares it and swaps it, as each catalog can: by a condition, a lock, or a version. It
    has no method for that alone. So a commit is made whose next metadata file is given instead of made.
    """

    compares = True

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog

    def location(self, table: ColumnPath) -> str | None:
        """The metadata file, which need not exist: it is not read."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        properties = self._catalog.properties
        self._catalog.properties = {**properties, _IO: _LOCATION_IO}
        try:
            self._catalog.load_table(table)
        except _Found as found:
            return str(found)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        finally:
            self._catalog.properties = properties
        raise StorageError(f"PyIceberg did not say where {'.'.join(table)} is")

    def add(self, table: ColumnPath, location: str) -> bool:
        """Add an entry; the catalog refuses a second one."""
        return _added(self._catalog, table, location)

    def move(self, table: ColumnPath, before: str, location: str) -> bool:
        """Compare and swap."""
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.io import load_file_io
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StagedTable

        io = load_file_io(self._catalog.properties, location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        after = StagedTable(table, metadata, location, io, self._catalog)
        staged: list[str] = []

        def stage(current: Any, *_: Any) -> StagedTable:
            if current is None or current.metadata_location != before:
                raise CommitFailedException("another publication was faster")
            staged.append(location)
            return after

        def write(*_: Any, **__: Any) -> None:
            """The file is there."""

        hooks = {
            "_update_and_stage_table": stage,
            "_write_metadata": write,
            "_write_metadata_no_exist_check": write,
        }
        vars(self._catalog).update(hooks)
        try:
            self._catalog.commit_table(after, (), ())
        except CommitFailedException:
            return False
        finally:
            for name in hooks:
                delattr(self._catalog, name)
        if not staged:
            raise StorageError(
                "this version of PyIceberg commits in a way that is not known here; install 0.12"
            )
        return True

    def remove(self, table: ColumnPath) -> None:
        """Remove the entry."""
        _removed(self._catalog, table)


class _Rest:
    """A REST catalog, which has no request that compares and swaps a location.

    An entry is replaced by one request if the server can do that (``overwrite``), else it is removed
    and added again.
    """

    compares = False

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog

    def location(self, table: ColumnPath) -> str | None:
        """The metadata file; the server reads it."""
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return str(self._catalog.load_table(table).metadata_location)
        except NoSuchTableError:
            return None

    def add(self, table: ColumnPath, location: str) -> bool:
        """Add an entry; the catalog refuses a second one, also one whose file is gone."""
        from pyiceberg.exceptions import RESTError

        try:
            return _added(self._catalog, table, location)
        except RESTError as error:
            if "NotFoundException" in str(error) and location.rpartition("/")[2] not in str(error):
                return False
            raise

    def move(self, table: ColumnPath, before: str, location: str) -> bool:
        """Replace the entry, whatever it is by now."""
        try:
            self._catalog.register_table(table, location, overwrite=True)
        except Exception as error:
            if not _is_refused_overwrite(error):
                raise
            self.remove(table)
            try:
                return self.add(table, location)
            except Exception:
                self.add(table, before)
                raise
        return True

    def remove(self, table: ColumnPath) -> None:
        """Remove the entry, and ask the server to keep the files."""
        _removed(self._catalog, table)


def _is_refused_overwrite(error: Exception) -> bool:
    """Whether a server can't replace an entry, or did not understand that it should.

    Iceberg's own server responds with status 406, for which PyIceberg has no class.
    """
    from pyiceberg.exceptions import RESTError, TableAlreadyExistsError

    unsupported = type(error) is RESTError and "UnsupportedOperation" in str(error)
    return unsupported or isinstance(error, TableAlreadyExistsError | NotImplementedError)


def _added(catalog: Any, table: ColumnPath, location: str) -> bool:
    from pyiceberg.exceptions import TableAlreadyExistsError

    catalog.create_namespace_if_not_exists(table[:-1])
    try:
        catalog.register_table(table, location)
    except TableAlreadyExistsError:
        return False
    return True


def _removed(catalog: Any, table: ColumnPath) -> None:
    from pyiceberg.exceptions import NoSuchTableError

    with suppress(NoSuchTableError):
        catalog.drop_table(table)
