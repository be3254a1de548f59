"""The program ``versioned``: its global options and its commands."""

from __future__ import annotations

import getpass

import click

from versioned_catalog.cli import (
    alter,
    branches,
    clones,
    config,
    create,
    differences,
    doctor,
    exports,
    inspect,
    maintenance,
    pages,
    query,
    schemas,
    sources,
    undo,
    upkeep,
)
from versioned_catalog.cli.output import STORAGE, STORAGE_VARIABLE
from versioned_catalog.cli.program import MEANINGS, Program, Session

_EXIT_CODES = "\b\nExit codes:\n" + "\n".join(f"  {c:>3}  {text}" for c, text in MEANINGS.items())


def _options(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Parse storage options. Errors do not quote an option, since it may be a secret."""
    pairs = [value.partition("=") for value in values]
    if not all(key and equals for key, equals, _ in pairs):
        raise click.BadParameter("expected key=value", context, parameter)
    return {key: value for key, _, value in pairs}


def _user() -> str | None:
    """Who runs the command; None if the system has no name for them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


@click.group("versioned", cls=Program, epilog=_EXIT_CODES)
@click.option(
    "--warehouse",
    metavar="FOLDER",
    envvar="VERSIONED_WAREHOUSE",
    show_envvar=True,
    help="Folder of the warehouse in which table names are looked up.",
)
@click.option(
    STORAGE,
    metavar="KEY=VALUE",
    multiple=True,
    callback=_options,
    envvar=STORAGE_VARIABLE,
    show_envvar=True,
    help="Option of the file system; may be repeated. Put secrets into the environment variable "
    "(separated by spaces), since other users can see a command's arguments.",
)
@click.option(
    "--root",
    "roots",
    metavar="NAME=URL",
    multiple=True,
    callback=_options,
    envvar="VERSIONED_ROOTS",
    show_envvar=True,
    help="External root: a folder or URL below which files of others may be read; may be repeated. "
    "Options of its file system are --storage root.NAME.KEY=VALUE.",
)
@click.version_option(package_name="pyspark-versioned", message="%(version)s")
@click.pass_context
def main(
    context: click.Context, warehouse: str | None, storage: dict[str, str], roots: dict[str, str]
) -> None:
    """Inspect, alter, roll back, clean up and repair versioned tables.

    TABLE is a name in the warehouse, such as metrics.cpu, or a table's folder: ./cpu, /data/cpu or
    a URL.
    """
    # It imports PyArrow, for which --help would wait.
    from versioned_catalog.commit.authorship import committed_by, current_facts

    by = {"user": _user(), "application": f"versioned {context.invoked_subcommand}"}
    context.with_resource(committed_by(**{**by, **current_facts()}))
    context.obj = Session(
        warehouse, {**storage, **{f"root.{name}": url for name, url in roots.items()}}
    )


_COMMANDS = (
    inspect.namespaces,
    inspect.tables,
    inspect.views,
    inspect.describe,
    inspect.schema,
    inspect.history,
    inspect.snapshots,
    inspect.segments,
    inspect.partitions,
    inspect.changes,
    differences.diff,
    differences.tail,
    inspect.lineage,
    pages.page,
    query.query,
    create.create,
    create.drop,
    sources.import_,
    sources.convert,
    sources.sync,
    exports.export,
    clones.clone,
    alter.alter,
    schemas.ddl,
    schemas.plan,
    schemas.apply,
    alter.pin,
    maintenance.consumers,
    undo.rollback,
    undo.undrop,
    inspect.tag,
    branches.branch,
    doctor.doctor,
    config.config,
    config.completion,
    upkeep.advise,
    upkeep.maintain,
    maintenance.compact,
    maintenance.analyze,
    maintenance.vacuum,
    maintenance.expire,
    maintenance.verify,
    maintenance.recover,
    maintenance.publish,
    maintenance.unpublish,
)
for _command in _COMMANDS:
    main.add_command(_command)
