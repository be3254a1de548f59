"""The list of options (``options.toml``), and the one rule that accepts or refuses an option."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from importlib.resources import files

from versioned_catalog import InvalidRequestError
from versioned_catalog.spelling import meant

OF_JAR = ("commit", "saveMode", "sessionOverwriteMode", "staged")
"""Internal options, which the jar passes to the data source; users can't set them."""

STORAGE = "storage."
"""Prefix of the options that are passed to the file system, such as ``storage.endpoint``."""

ROOT = "root."
"""Prefix of the options that allow external roots, such as ``root.lake``."""

_OF_SPARK = "__"
"""Prefix of options that Spark adds to those of users."""


class Use(Enum):
    """A use of options. The values are those of ``options.toml``."""

    READ = "read"
    WRITE = "write"
    STREAM = "stream"
    SINK = "sink"
    CHANGES = "changes"
    CHANGE_STREAM = "change stream"


_SAID = {
    Use.READ: "reads",
    Use.WRITE: "writes",
    Use.STREAM: "streams that read",
    Use.SINK: "streams that write",
    Use.CHANGES: "reads of changes",
    Use.CHANGE_STREAM: "streams of changes",
}
ANY_USE = frozenset(Use)


@dataclass(frozen=True)
class Option:
    """An option: see ``options.toml``."""

    name: str
    of: str
    topic: str
    path: frozenset[Use]
    named: frozenset[Use]
    does: str
    instead: str
    values: tuple[str, ...]
    same_as: str | None
    type: str
    default: str | None
    since: str

    def uses(self, *, named: bool) -> frozenset[Use]:
        """The uses that honour it."""
        return self.named if named else self.path


def _listed() -> Iterable[Option]:
    text = files(__package__).joinpath("options.toml").read_text(encoding="utf-8")
    for row in tomllib.loads(text)["option"]:
        for name in row["names"]:
            yield Option(
                name,
                row["of"],
                row["topic"],
                frozenset(map(Use, row.get("path", ()))),
                frozenset(map(Use, row.get("named", ()))),
                row.get("does", ""),
                row.get("instead", "leave it out"),
                tuple(row.get("values", ())),
                row.get("same_as"),
                row.get("type", ""),
                row.get("default"),
                row.get("since", "0.1.0"),
            )


OPTIONS = tuple(_listed())
"""All options, in the order of the documentation."""

_BY_KEY = {option.name.lower(): option for option in OPTIONS}
_PREFIXES = tuple(name.removesuffix("*") for name in _BY_KEY if name.endswith("*"))


def names_of_topic(topic: str) -> tuple[str, ...]:
    """The names of the options of one section that any use honours."""
    return tuple(o.name for o in OPTIONS if o.topic == topic and o.path | o.named)


def accepted(
    options: Mapping[str, str], uses: Iterable[Use], table: str = "", *, named: bool
) -> dict[str, str]:
    """Return options under the names that this project has for them.

    Args:
        options: as a user gives them, in any case.
        uses: one of these must honour each option.
        table: the table's name in errors.
        named: whether the table is found by its name in a catalog, and not by a path.

    Raises:
        InvalidRequestError: an option is unknown, is refused, or can't have its value.
    """
    wanted, prefix = frozenset(uses), f"{table}: " if table else ""
    accepted_options: dict[str, str] = {}
    written: dict[str, str] = {}
    for key, value in sorted(options.items(), key=_is_refused_everywhere, reverse=True):
        if key.startswith(_OF_SPARK):
            accepted_options[key] = value
            continue
        option = _find(key)
        if option is None:
            raise InvalidRequestError(
                prefix + _unknown(key, wanted, named=named), condition="INVALID_OPTION"
            )
        if not option.uses(named=named) & wanted:
            raise InvalidRequestError(
                f"{prefix}the option {_shown(option, key)} is not supported in "
                f"{_said(wanted, named=named)}; {option.instead}",
                condition="NOT_SUPPORTED",
            )
        name = option.same_as or _shown(option, key)
        if name in accepted_options:
            raise InvalidRequestError(
                f"{prefix}the options {written[name]} and {option.name} are the same option; give "
                "only one",
                condition="INVALID_OPTION",
            )
        accepted_options[name], written[name] = _value(option, value, prefix), option.name
    return accepted_options


def _is_refused_everywhere(pair: tuple[str, str]) -> bool:
    """Whether no use honours an option; its error says what to use instead, so it is raised first."""
    option = _find(pair[0])
    return option is not None and not option.path | option.named


def _find(key: str) -> Option | None:
    lower = key.lower()
    prefix = next((p for p in _PREFIXES if lower.startswith(p) and lower != p), None)
    return _BY_KEY.get(lower if prefix is None else f"{prefix}*")


def _shown(option: Option, key: str) -> str:
    """The documented name; the user's spelling if that is a prefix."""
    return key if option.name.endswith("*") else option.name


def _said(uses: frozenset[Use], *, named: bool) -> str:
    label = _SAID[next(iter(uses))] if len(uses) == 1 else "reads and writes"
    return f"{label} by table name" if named else f"{label} by path"


def _unknown(key: str, uses: frozenset[Use], *, named: bool) -> str:
    """The error message for an unknown option, with the nearest name of a known one."""
    documented = [option for option in OPTIONS if option.same_as is None]
    honoured = [option.name for option in documented if option.uses(named=named) & uses]
    near = meant(key, honoured) or meant(key, [option.name for option in documented])
    if near is not None:
        return f"the option {key} is unknown; did you mean {near}?"
    shown = ", ".join(name.replace("*", "<name>") for name in honoured)
    return f"the option {key} is unknown. The options are {shown}"


def _value(option: Option, value: str, prefix: str) -> str:
    if option.name == "as-of-timestamp":
        return _instant(value, prefix)
    if not option.values:
        return value
    if value.lower() not in option.values:
        raise InvalidRequestError(
            f"{prefix}{option.name} is {value!r}; it must be {' or '.join(option.values)}",
            condition="INVALID_OPTION",
        )
    return value.lower()


def _instant(value: str, prefix: str) -> str:
    """Milliseconds since 1970 as a timestamp."""
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(value))
    except (ValueError, OverflowError):
        raise InvalidRequestError(
            f"{prefix}as-of-timestamp is {value!r}; it must be a number of milliseconds since 1970, or "
            "write timestampAsOf with a timestamp",
            condition="INVALID_OPTION",
        ) from None
    return instant.isoformat()
