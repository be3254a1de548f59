"""PROTOCOL.md describes the messages of Python, from which the jar's records are generated."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from pyspark_versioned.sql.dispatch import FUNCTIONS, HANDLERS
from pyspark_versioned.sql.protocol.base import (
    Attachment,
    Commit,
    CommittingRequest,
    Int32,
    Reason,
    SparkStruct,
    SparkType,
    Value,
)
from pyspark_versioned.sql.protocol.codec import wire_name
from pyspark_versioned.sql.protocol.common import TableRef, Term

CONNECTOR = Path(__file__).parents[2] / "connector"


def load_records() -> Any:
    """Import the module that generates the records, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("records", CONNECTOR / "jvm" / "records.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DOCUMENT = (CONNECTOR / "PROTOCOL.md").read_text()
RECORDS = load_records()
JAVA = {Path(path).stem: text for path, text in RECORDS.java_sources()}


def sections() -> dict[str, str]:
    """Split PROTOCOL.md into its messages and unions."""
    found = re.findall(r"^### (\w+)[^\n]*\n(.*?)(?=^##|\Z)", DOCUMENT, re.M | re.S)
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.mark.thorough
def test_messages_are_as_documented() -> None:
    """If this fails, run ``python connector/jvm/records.py``."""
    messages, unions = RECORDS.descriptions(), RECORDS.unions()
    assert len(messages) > 100
    assert sections().keys() == messages.keys() | unions.keys()
    assert RECORDS.with_tables(DOCUMENT) == DOCUMENT
    assert "| ? |" not in DOCUMENT
    for name, text in sections().items():
        if name in unions:
            members = tuple(member.__name__ for member in unions[name])
            assert re.findall(r"`(\w+)`", text) == list(members)
        else:
            assert ("Commits." in text) == messages[name].commits, name


def test_tables_are_rewritten_and_descriptions_stay() -> None:
    outdated = """Version: 1

### CanDelete -> Done
Text.

| member | type | meaning |
|---|---|---|
| table | string | the table |
| gone | string | no member any more |

## Other
"""
    expected = outdated.replace("Done", "Whole").replace(
        "string | the table", "TableRef | the table"
    )
    expected = expected.replace(
        "| gone | string | no member any more", "| filters | list<Term> | ?"
    )
    expected = expected.replace("Version: 1", f"Version: {RECORDS.base.VERSION}")
    assert RECORDS.with_tables(outdated) == expected


@pytest.mark.parametrize(
    "hint, documented, java",
    [
        (str, "string", "String"),
        (int, "integer", "long"),
        (Int32, "integer", "int"),
        (bool, "boolean", "boolean"),
        (Attachment, "bytes", "byte[]"),
        (Value, "value", "JsonNode"),
        (SparkType, "type", "DataType"),
        (SparkStruct, "type", "StructType"),
        (TableRef, "TableRef", "TableRef"),
        (Term, "Term", "Term"),
        (Sequence[Term], "list<Term>", "List<Term>"),
        (Sequence[int], "list<integer>", "long[]"),
        (Sequence[Int32], "list<integer>", "int[]"),
        (Sequence[int | None], "list<integer?>", "List<@Nullable Long>"),
        (Sequence[Sequence[Value]], "list<list<value>>", "List<List<JsonNode>>"),
        (Mapping[str, Int32], "map<integer>", "Map<String, Integer>"),
        (Mapping[str, str | None], "map<string?>", "Map<String, @Nullable String>"),
        (Int32 | None, "integer?", "@Nullable Integer"),
        (int | None, "integer?", "@Nullable Long"),
        (Sequence[str] | None, "list<string>?", "@Nullable List<String>"),
        (Term | None, "Term?", "@Nullable Term"),
    ],
)
def test_each_type_has_its_java_type_and_its_documented_one(
    hint: Any, documented: str, java: str
) -> None:
    assert RECORDS.documented_type(hint) == documented
    assert RECORDS.java_type(hint) == java


@pytest.mark.parametrize(
    "name, head",
    [
        (
            "LoadRelation",
            "record LoadRelation(CatalogRef catalog, List<String> name, @Nullable String within) "
            "implements Request<Loaded> {",
        ),
        ("Truncate", "record Truncate(TableRef table) implements CommittingRequest<Committed> {"),
        (
            "RenameColumn",
            "record RenameColumn(List<String> path, String newName) implements Change {",
        ),
        ("Done", "record Done() implements Message {"),
        ("SortKey", "sealed interface SortKey extends Variant permits TransformKey, HashKey {}"),
        ("Reason", "enum Reason { MISSING, EXISTS, MISSING_NAMESPACE, NOT_EMPTY }"),
        ("Protocol", f"interface Protocol {{ int VERSION = {RECORDS.base.VERSION}; }}"),
    ],
)
def test_java_records_have_the_members_of_the_messages(name: str, head: str) -> None:
    assert f"\npublic {head}\n" in JAVA[name]


def test_text_of_a_record_shows_no_secrets() -> None:
    for text in JAVA.values():
        assert "public record" not in text or "toString()" in text


def test_every_request_has_a_handler() -> None:
    messages = RECORDS.descriptions()
    requests = {name for name, message in messages.items() if message.response}
    assert {request.__name__ for request in HANDLERS} == requests
    assert len(HANDLERS) == len(FUNCTIONS)
    for request, function in HANDLERS.items():
        hints = get_type_hints(function)
        response = hints.pop("return")
        commits = issubclass(request, CommittingRequest)
        assert list(hints.values()) == [request, *([Commit] if commits else [])], function
        (base,) = (one for one in request.__orig_bases__ if get_origin(one))  # type: ignore[attr-defined]
        assert response == get_args(base)[0], function


def test_the_reasons_for_refusals_are_as_documented() -> None:
    documented = " ".join(re.findall(r"Refused:([^.]*)\.", DOCUMENT))
    assert set(re.findall(r"`(\w+)`", documented)) == set(get_args(Reason))


def test_wire_names_are_in_snake_case() -> None:
    assert wire_name(type("PlanScan", (), {})) == "plan_scan"
