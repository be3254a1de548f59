"""PROTOCOL.md, the Python dataclasses and the Java records describe the same messages."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from pyspark_versioned.sql.dispatch import FUNCTIONS, HANDLERS
from pyspark_versioned.sql.protocol.base import (
    VERSION,
    Base64,
    Commit,
    CommittingRequest,
    Reason,
    Request,
    SparkType,
    Variant,
)
from pyspark_versioned.sql.protocol.codec import wire_name

CONNECTOR = Path(__file__).parents[2] / "connector"
DOCUMENT = (CONNECTOR / "PROTOCOL.md").read_text()
JVM = CONNECTOR / "jvm" / "versioned" / "spark"
MODULES = ("common", "names", "rows", "stream", "table")


@dataclass(frozen=True)
class Message:
    """A message as PROTOCOL.md, Python or Java describes it.

    Args:
        members: pairs of name and type, in order.
        response: the type of the response, if the message is a request.
        commits: whether it is a request that commits.
        one_of: the union that it belongs to, if any.
    """

    members: tuple[tuple[str, str], ...]
    response: str | None = None
    commits: bool = False
    one_of: str | None = None


def documented() -> dict[str, Message]:
    """Parse the messages of PROTOCOL.md."""
    heads = list(re.finditer(r"^### (\w+)(?: -> (\w+))?\n(.*?)(?=^##|\Z)", DOCUMENT, re.M | re.S))
    unions = {head[1]: re.findall(r"`(\w+)`", head[3]) for head in heads if is_union(head)}
    union_of = {name: union for union, names in unions.items() for name in names}
    found = {}
    for head in heads:
        if head[1] in unions:
            continue
        members = re.findall(r"^\| (\w+) \| (\S+) \| .+ \|$", head[3], re.M)
        rows = tuple(
            (name, type_) for name, type_ in members if (name, type_) != ("member", "type")
        )
        found[head[1]] = Message(rows, head[2], "Commits." in head[3], union_of.get(head[1]))
    return found


def is_union(head: re.Match[str]) -> bool:
    return head[2] is None and "|" not in head[3] and "no members" not in head[3]


def in_python() -> dict[str, Message]:
    """Describe the messages of the Python dataclasses."""
    modules = [import_module(f"pyspark_versioned.sql.protocol.{name}") for name in MODULES]
    unions = {
        member: name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, types.UnionType)
        for member in get_args(value)
    }
    found = {}
    for module in modules:
        for name, class_ in vars(module).items():
            if is_dataclass(class_) and class_.__module__ == module.__name__:
                hints = get_type_hints(class_)
                members = tuple(
                    (f.name, python_type(hints[f.name], unions)) for f in fields(class_)
                )
                found[name] = Message(
                    members,
                    response_of(class_, unions),
                    issubclass(class_, CommittingRequest),
                    unions.get(class_) if issubclass(class_, Variant) else None,
                )
    return found


def response_of(class_: type, unions: Mapping[Any, str]) -> str | None:
    if not issubclass(class_, Request):
        return None
    (base,) = (one for one in class_.__orig_bases__ if get_origin(one))  # type: ignore[attr-defined]
    return python_type(get_args(base)[0], unions)


def python_type(hint: Any, unions: Mapping[Any, str]) -> str:
    plain = {str: "string", int: "integer", bool: "boolean", Base64: "base64", Any: "value"}
    if hint is SparkType:
        return "type"
    if hint in plain:
        return plain[hint]
    if get_origin(hint) in (Union, types.UnionType):
        members = [one for one in get_args(hint) if one is not type(None)]
        optional = "?" if len(members) < len(get_args(hint)) else ""
        return (
            python_type(members[0], unions) if len(members) == 1 else unions[members[0]]
        ) + optional
    if get_origin(hint) is Sequence:
        return f"list<{python_type(get_args(hint)[0], unions)}>"
    if get_origin(hint) is Mapping:
        return f"map<{python_type(get_args(hint)[1], unions)}>"
    return str(hint.__name__)


def in_java() -> dict[str, Message]:
    """Parse the messages of the Java records from their sources."""
    found = {}
    files = [*(JVM / "protocol").glob("*.java"), JVM / "internals" / "HadoopFolder.java"]
    sources = {path: re.sub(r"/\*.*?\*/|//.*", "", path.read_text(), flags=re.S) for path in files}
    unions = set(re.findall(r"sealed interface (\w+) extends Variant", "".join(sources.values())))
    for source in sources.values():
        for name, components, implements in re.findall(
            r"\brecord (\w+)\((.*?)\)([^{(]*)\{", source, re.S
        ):
            request = re.search(r"(Committing)?Request<(\w+)>", implements)
            union = re.search(r"implements (\w+)", implements)
            found[name] = Message(
                tuple(java_members(components)),
                request and request[2],
                bool(request and request[1]),
                union[1] if union and union[1] in unions else None,
            )
    return found


def java_members(components: str) -> Iterator[tuple[str, str]]:
    for component in re.split(r",(?![^<]*>)", " ".join(components.split())):
        if component.strip():
            type_, _, name = component.strip().rpartition(" ")
            yield re.sub(r"([A-Z])", r"_\1", name).lower(), java_type(type_)


def java_type(text: str) -> str:
    text = text.strip()
    if text.startswith("@Nullable "):
        return java_type(text.removeprefix("@Nullable ")) + "?"
    if text == "byte[]":
        return "base64"
    if text.endswith("[]"):
        return f"list<{java_type(text[:-2])}>"
    if match := re.fullmatch(r"List<(.*)>", text):
        return f"list<{java_type(match[1])}>"
    if match := re.fullmatch(r"Map<String, (.*)>", text):
        return f"map<{java_type(match[1])}>"
    if text in ("int", "long", "Integer", "Long"):
        return "integer"
    if text in ("DataType", "StructType"):
        return "type"
    return {"String": "string", "boolean": "boolean", "JsonNode": "value"}.get(text, text)


@pytest.mark.parametrize("side", [in_python, in_java])
def test_messages_are_as_documented(side: Any) -> None:
    expected, found = documented(), side()
    assert len(expected) > 100
    assert found.keys() == expected.keys()
    assert {name: found[name] for name in expected} == expected


def test_every_request_has_a_handler() -> None:
    requests = {name for name, message in documented().items() if message.response}
    assert {request.__name__ for request in HANDLERS} == requests
    assert len(HANDLERS) == len(FUNCTIONS)
    for request, function in HANDLERS.items():
        hints = get_type_hints(function)
        response = hints.pop("return")
        commits = issubclass(request, CommittingRequest)
        assert list(hints.values()) == [request, *([Commit] if commits else [])], function
        (base,) = (one for one in request.__orig_bases__ if get_origin(one))  # type: ignore[attr-defined]
        assert response == get_args(base)[0], function


def test_the_version_and_the_reasons_for_refusals_are_as_documented() -> None:
    assert f"\nVersion: {VERSION}\n" in DOCUMENT
    java = (JVM / "python" / "Python.java").read_text()
    assert f"int PROTOCOL = {VERSION};" in java
    reasons = set(get_args(Reason))
    refusal = (JVM / "python" / "Refusal.java").read_text()
    assert {
        one.lower() for one in re.search(r"enum Reason \{ (.*) \}", refusal)[1].split(", ")
    } == reasons  # type: ignore[index]
    assert (
        set(re.findall(r"`(\w+)`", " ".join(re.findall(r"Refused:([^.]*)\.", DOCUMENT)))) == reasons
    )


def test_wire_names_are_in_snake_case() -> None:
    assert wire_name(type("PlanScan", (), {})) == "plan_scan"
