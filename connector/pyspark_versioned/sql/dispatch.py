"""Dispatch requests of the jar to the functions that carry them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from pyspark_versioned.sql import (
    distribution,
    metadata_requests,
    namespace_requests,
    number_requests,
    procedure_requests,
    scan_requests,
    statements,
    stream_requests,
    table_requests,
    view_requests,
    write_requests,
)
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import (
    VERSION,
    Commit,
    CommittingRequest,
    Failure,
    Refused,
)
from pyspark_versioned.sql.protocol.codec import decode, encode, wire_name
from pyspark_versioned.sql.protocol.common import Done, Handshake
from pyspark_versioned.sql.session_facts import authored
from versioned_catalog import InvalidRequestError, VersionedError
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.observe.setup import set_up
from versioned_catalog.observe.tracing import continuing, is_used, span

Json = dict[str, Any]


def handshake(request: Handshake) -> Done:
    """Refuse a jar of another release.

    Raises:
        InvalidRequestError: it speaks another version of the protocol.
    """
    if request.protocol != VERSION:
        raise InvalidRequestError(
            f"the jar speaks version {request.protocol} of the protocol and pyspark_versioned speaks "
            f"version {VERSION}; use the jar that pyspark_versioned.jar_path() names"
        )
    return Done()


FUNCTIONS = (
    handshake,
    *distribution.HANDLERS,
    *metadata_requests.HANDLERS,
    *namespace_requests.HANDLERS,
    *number_requests.HANDLERS,
    *procedure_requests.HANDLERS,
    *scan_requests.HANDLERS,
    *statements.HANDLERS,
    *stream_requests.HANDLERS,
    *table_requests.HANDLERS,
    *view_requests.HANDLERS,
    *write_requests.HANDLERS,
)

HANDLERS: dict[type, Callable[..., object]] = {
    get_type_hints(function)["request"]: function for function in FUNCTIONS
}
"""Functions by the request that they carry out; those that commit take a ``Commit``, too."""

_BY_NAME = {wire_name(message): message for message in HANDLERS}


def respond(parsed: Any, received: Sequence[bytes] = (), sent: list[bytes] | None = None) -> str:
    """Carry out one request.

    Args:
        parsed: the request, parsed from JSON; see ``connector/PROTOCOL.md``.
        received: the bytes that came with the request.
        sent: the bytes that go with the response are added here.

    Returns:
        The response as the text of its JSON: a result, a refusal or an error.
    """
    try:
        set_up()
    except VersionedError as error:
        return encode(_error_response(error, None), sent)
    if not is_used():
        return encode(_outcome(parsed, received), sent)
    named = parsed if isinstance(parsed, dict) else {}
    with continuing(named.get("trace")), span(f"versioned.request.{named.get('request')}") as here:
        outcome = _outcome(parsed, received)
        if "error" in outcome:
            here.set(error=outcome["error"].condition)
        return encode(outcome, sent)


def _outcome(parsed: Any, received: Sequence[bytes]) -> Json:
    request: object = None
    try:
        name = parsed.get("request") if isinstance(parsed, dict) else None
        message = _BY_NAME.get(name) if isinstance(name, str) else None
        if message is None:
            raise InvalidRequestError(
                f"the jar sent the request {name!r}, which this pyspark_versioned does not know; use "
                "the jar that pyspark_versioned.jar_path() names"
            )
        request = decode(message, parsed.get("body"), f"the request {name}", received)
        commit = _commit(message, parsed)
        with authored(commit[0].by if commit else {}):
            return {"response": HANDLERS[message](request, *commit)}
    except Refused as refused:
        return {"refused": refused.reason}
    except VersionedError as error:
        return _error_response(error, request)


def _commit(message: type, parsed: Json) -> tuple[Commit, ...]:
    """The commit of a request that commits, as an argument."""
    if not issubclass(message, CommittingRequest):
        return ()
    return (decode(Commit, parsed.get("commit"), f"the commit of the request {parsed['request']}"),)


def _error_response(error: VersionedError, request: object) -> dict[str, Any]:
    """The response for an error, whose message names the table of the failed request."""
    names = _table_names(request)
    if names:
        error.name_table(*names)
    return {"error": Failure(error.condition, error.sqlstate, str(error))}


def _table_names(request: Any) -> tuple[str, ...]:
    """The names that the table of a request may have in an error; empty if it has no table."""
    match request:
        case messages.Call():
            argument = request.arguments.get("table")
            return () if argument is None else _names_given(request.catalog, argument)
        case messages.LoadProcedure():
            return ()
        case messages.CommitWrite():
            return _names_of(request.write.table)
        case object(table=messages.TableRef() as table):
            return _names_of(table)
        case object(creation=messages.Creation() as creation):
            return _names_in(creation.catalog, creation.declaration.name)
        case object(
            catalog=messages.CatalogRef() as catalog,
            declaration=messages.Declaration() as declaration,
        ):
            return _names_in(catalog, declaration.name)
        case object(catalog=messages.CatalogRef() as catalog, name=name):
            return _names_in(catalog, name)
        case _:
            return ()


def _names_given(catalog: messages.CatalogRef, argument: str) -> tuple[str, ...]:
    """The names of a table that a statement names as text; it may begin with the catalog, and quote."""
    try:
        parts = parse_path(argument)
    except InvalidRequestError:
        return (argument,)
    if parts[0] == catalog.name and len(parts) > 2:
        return argument, render_path(parts), render_path(parts[1:])
    return argument, render_path(parts)


def _names_of(table: messages.TableRef) -> tuple[str, ...]:
    return table.name, table.name.partition(".")[2] or table.name, table.location


def _names_in(catalog: messages.CatalogRef, name: Any) -> tuple[str, ...]:
    return render_path((catalog.name, *name)), render_path(name)
