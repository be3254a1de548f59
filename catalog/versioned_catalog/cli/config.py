"""The commands ``config`` and ``completion``: how the program itself is set up."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from versioned_catalog.cli.output import STORAGE, STORAGE_VARIABLE, show_json, show_rows, wants_json
from versioned_catalog.cli.program import COMPLETE_VARIABLE, Command, Session
from versioned_catalog.storage.secrets import HIDDEN, is_root, without_credentials

_VARIABLES = {
    "warehouse": "VERSIONED_WAREHOUSE",
    "storage": STORAGE_VARIABLE,
    "roots": "VERSIONED_ROOTS",
}
_OPTIONS = {"warehouse": "--warehouse", "storage": STORAGE, "roots": "--root"}
_OF_OTHERS = (
    *("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"),
    *(
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "HTTPS_PROXY",
        "HTTP_PROXY",
    ),
    *("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"),
)
"""Variables of the environment that storage, Java and Spark read."""

_SHOWN = ("_REGION", "_PROFILE", "_HOME", "_DIR", "_PYTHON")
"""How the names of variables end whose values are no secrets."""


@click.command(cls=Command)
@click.pass_obj
@click.pass_context
def config(context: click.Context, session: Session) -> None:
    """Show the configuration in force, and where each value comes from. Values that may be secret are
    hidden."""
    rows = [{"name": n, "value": v, "from": source} for n, v, source in _rows(context, session)]
    show_rows(rows, ["name", "value", "from"])


def _rows(context: click.Context, session: Session) -> Iterator[tuple[str, str | None, str]]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("pyspark-versioned")
    except PackageNotFoundError:
        installed = "not installed by pip"
    yield "version", installed, "package"
    yield "python", f"{platform.python_version()}, {sys.executable}", "process"
    yield "warehouse", _absolute(session.warehouse), _source(context, "warehouse")
    for key, value in sorted(session.storage.items()):
        is_url = is_root(key)
        given = key.removeprefix("root.") in (context.find_root().params["roots"] or {})
        name = key if is_url else f"storage.{key}"
        shown = without_credentials(value) if is_url else HIDDEN
        yield name, shown, _source(context, "roots" if is_url and given else "storage")
    for name in _OF_OTHERS:
        if name in os.environ:
            yield name, os.environ[name] if name.endswith(_SHOWN) else HIDDEN, "environment"


def _absolute(warehouse: str | None) -> str | None:
    if warehouse is None or "://" in warehouse:
        return None if warehouse is None else without_credentials(warehouse)
    return os.path.abspath(os.path.expanduser(warehouse))


def _source(context: click.Context, parameter: str) -> str:
    match context.find_root().get_parameter_source(parameter):
        case ParameterSource.COMMANDLINE:
            return _OPTIONS[parameter]
        case ParameterSource.ENVIRONMENT:
            return _VARIABLES[parameter]
        case _:
            return f"not set: give {_OPTIONS[parameter]} or {_VARIABLES[parameter]}"


_INSTALL = {
    "bash": 'add to ~/.bashrc: eval "$(versioned completion bash)"',
    "zsh": 'add to ~/.zshrc: eval "$(versioned completion zsh)"',
    "fish": "run: versioned completion fish > ~/.config/fish/completions/versioned.fish",
}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and names of tables in SHELL.

    \b
    bash: add to ~/.bashrc   eval "$(versioned completion bash)"
    zsh:  add to ~/.zshrc    eval "$(versioned completion zsh)"
    fish: versioned completion fish > ~/.config/fish/completions/versioned.fish
    """
    from click.shell_completion import get_completion_class

    kind: Any = get_completion_class(shell)
    root = context.find_root()
    script = kind(root.command, {}, root.info_name, COMPLETE_VARIABLE).source()
    if wants_json():
        show_json({"shell": shell, "script": script, "install": _INSTALL[shell]})
    else:
        click.echo(script)
