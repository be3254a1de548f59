"""Generate the jar's records and the tables of ``PROTOCOL.md`` from the messages of Python.

``build.py`` compiles the records, which are not in git; ``--java FOLDER`` writes them to read them.
"""

from __future__ import annotations

import argparse
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pyspark_versioned.sql.protocol import base, messages

Hint: TypeAlias = Any

DOCUMENT = Path(__file__).parents[1] / "PROTOCOL.md"
PACKAGE = "versioned.spark.protocol"
_TEMPLATE = f"""package {PACKAGE};

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import {PACKAGE}.Message.*;

/** See {{@code connector/PROTOCOL.md}}. Generated from {{@code pyspark_versioned.sql.protocol}}. */
public %s {{%s}}
"""
_WITHOUT_SECRETS = '\n    @Override\n    public String toString() {\n        return "%s";\n    }\n'
_DOCUMENTED = {str: "string", int: "integer", bool: "boolean", bytes: "bytes", Any: "value"}
_JAVA = {str: "String", int: "long", bool: "boolean", bytes: "byte[]", Any: "JsonNode"}
_BOXED = {"long": "Long", "int": "Integer", "boolean": "Boolean"}


class Description(NamedTuple):
    """A message.

    Args:
        hints: types of the members by their names, in order.
        response: type of the response, if the message is a request.
        commits: whether the message is a request that commits.
        unions: names of the unions that the message belongs to.
    """

    hints: Mapping[str, Hint]
    response: Hint | None
    commits: bool
    unions: Sequence[str]


def unions() -> dict[str, tuple[type, ...]]:
    """The messages of each union, by its name."""
    named = vars(messages).items()
    return {name: get_args(value) for name, value in named if isinstance(value, types.UnionType)}


def descriptions() -> dict[str, Description]:
    """Describe all messages by their names, but not those that wrap every request and response."""
    return {
        name: _described(value)
        for name, value in vars(messages).items()
        if isinstance(value, type)
        and issubclass(value, base.Message)
        and value.__module__ != base.__name__
    }


def _described(message: type[base.Message]) -> Description:
    hints = get_type_hints(message, include_extras=True)
    bases = getattr(message, "__orig_bases__", ())  # of a request: Request[Response]
    return Description(
        {field.name: hints[field.name] for field in fields(message)},
        get_args(bases[0])[0] if bases else None,
        issubclass(message, base.CommittingRequest),
        [name for name, members in unions().items() if message in members],
    )


def _optional(hint: Hint) -> tuple[Hint, bool]:
    """A type without None, and whether it had it."""
    origin: Hint = get_origin(hint)
    members = get_args(hint) if origin in (Union, types.UnionType) else ()
    present = [member for member in members if member is not types.NoneType]
    if len(present) == len(members):
        return hint, False
    union: Hint = present[0]
    for member in present[1:]:
        union |= member
    return union, True


def _name(hint: Hint) -> str:
    """The name of a message or a union."""
    if isinstance(hint, types.UnionType):
        return next(name for name, members in unions().items() if members == get_args(hint))
    return str(hint.__name__)


def documented_type(hint: Hint) -> str:
    """A type as PROTOCOL.md names it."""
    origin: Hint = get_origin(hint)
    required, optional = _optional(hint)
    if optional:
        return f"{documented_type(required)}?"
    if origin is Annotated:
        return documented_type(get_args(hint)[0])
    if hint is base.SparkType:
        return "type"
    if origin is Sequence:
        return f"list<{documented_type(get_args(hint)[0])}>"
    if origin is Mapping:
        return f"map<{documented_type(get_args(hint)[1])}>"
    return _DOCUMENTED.get(hint) or _name(hint)


def java_type(hint: Hint) -> str:
    """A type in Java."""
    origin: Hint = get_origin(hint)
    required, optional = _optional(hint)
    if optional:
        return f"@Nullable {_boxed(required)}"
    if origin is Annotated:
        return str(get_args(hint)[1])
    if hint is base.SparkType:
        return "DataType"
    if origin is Sequence:
        item = get_args(hint)[0]
        return f"{java_type(item)}[]" if java_type(item) in _BOXED else f"List<{_boxed(item)}>"
    if origin is Mapping:
        return f"Map<String, {_boxed(get_args(hint)[1])}>"
    return _JAVA.get(hint) or _name(hint)


def _boxed(hint: Hint) -> str:
    java = java_type(hint)
    return _BOXED.get(java, java)


def java_sources() -> Iterator[tuple[str, str]]:
    """The Java files of the protocol: their paths below the sources, and their texts."""
    parts = [_record(name, message) for name, message in descriptions().items()]
    for envelope in (base.Commit, base.Failure):
        parts.append(_record(envelope.__name__, _described(envelope)))
    for name, members in unions().items():
        permitted = ", ".join(member.__name__ for member in members)
        parts.append((f"sealed interface {name} extends Variant permits {permitted}", ""))
    reasons = ", ".join(reason.upper() for reason in get_args(base.Reason))
    parts.append(("enum Reason", f" {reasons} "))
    parts.append(("interface Protocol", f" int VERSION = {base.VERSION}; "))
    for head, body in parts:
        name = re.sub(r"^(?:sealed )?\w+ (\w+).*", r"\1", head)
        yield f"{PACKAGE.replace('.', '/')}/{name}.java", _TEMPLATE % (head, body)


def _record(name: str, message: Description) -> tuple[str, str]:
    members = ", ".join(
        f"{java_type(hint)} {_camel_case(member)}" for member, hint in message.hints.items()
    )
    request = "CommittingRequest" if message.commits else "Request"
    kinds = [f"{request}<{_name(message.response)}>"] if message.response else message.unions
    head = f"record {name}({members}) implements {', '.join(kinds or ['Message'])}"
    return head, _WITHOUT_SECRETS % name


def _camel_case(name: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def with_tables(document: str) -> str:
    """PROTOCOL.md with the version, the headings and the tables of the messages.

    What the page says about a message and about a member stays; a new member is described as ``?``.
    """
    document = re.sub(r"(?m)^Version: \d+$", f"Version: {base.VERSION}", document)
    return re.sub(
        r"^### (\w+)[^\n]*\n(.*?)(?=^##|\Z)", _section, document, flags=re.MULTILINE | re.DOTALL
    )


def _section(section: re.Match[str]) -> str:
    name, body = section.groups()
    message = descriptions().get(name)
    if message is None:
        return section[0]
    head = f"### {name} -> {_name(message.response)}" if message.response else f"### {name}"
    meanings = dict(re.findall(r"^\| (\w+) \| \S+ \| (.*) \|$", body, re.MULTILINE))
    rows = [
        f"| {member} | {documented_type(hint)} | {meanings.get(member, '?')} |\n"
        for member, hint in message.hints.items()
    ]
    table = ["| member | type | meaning |\n", "|---|---|---|\n", *rows] if rows else []
    text, _, after = re.sub(r"(?:^\|[^\n]*\n)+", "\0", body, flags=re.MULTILINE).partition("\0")
    return f"{head}\n{text}{''.join(table)}{after}"


def main() -> None:
    """Rewrite the tables of PROTOCOL.md, or write the Java records to a folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--java", type=Path, metavar="FOLDER", help="where to write the records")
    folder = parser.parse_args().java
    if folder is None:
        DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
        return
    for path, text in java_sources():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


if __name__ == "__main__":
    main()
