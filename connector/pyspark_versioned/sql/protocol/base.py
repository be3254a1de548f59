"""Base classes of messages, and the refusal: an outcome that is neither a result nor an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, TypeVar, dataclass_transform

VERSION = 16
"""Version of the protocol; see ``connector/PROTOCOL.md``."""

SparkType = NewType("SparkType", object)
"""A Spark type as JSON: ``"integer"``, ``{"type": "struct", ...}``."""

SparkStruct = Annotated[SparkType, "StructType"]
"""A Spark type that is a struct, and in the jar a ``StructType``."""

Int32 = Annotated[int, "int"]
"""An integer that is an ``int`` in the jar, such as an index; others are ``long``."""

Attachment = bytes
"""Bytes, which travel behind the JSON."""

Value = Any
"""A value as text, a list of values, or None."""

R_co = TypeVar("R_co", covariant=True)


@dataclass_transform(frozen_default=True)
class Message:
    """A message. Subclasses are frozen dataclasses, without a repr since some hold secrets.

    A message has no attributes but its members: ``encode`` sends all of ``vars()``.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, repr=False)(cls)


class Request(Message, Generic[R_co]):
    """A request, whose response is an ``R_co``."""


class CommittingRequest(Request[R_co]):
    """A request that commits; it comes with a ``Commit``."""


class Variant(Message):
    """A message that is one of several: its JSON has the member ``kind``."""


class Commit(Message):
    """A commit that the jar has asked for.

    Args:
        id: the commit ID.
        retry: whether an earlier response may have been lost, so that the commit may have landed.
        by: who commits and why, as ``committed_by`` takes it; and by which setting the session stages
            its writes, if it does.
    """

    id: str
    retry: bool
    by: Mapping[str, str]


class Failure(Message):
    """An error for the user.

    Args:
        condition: the error condition, such as ``VERSIONED_INVALID_OPTION``.
        sqlstate: its SQLSTATE.
        message: its text.
    """

    condition: str
    sqlstate: str
    message: str


Reason = Literal["missing", "exists", "missing_namespace", "not_empty"]


class Refused(Exception):
    """A request was refused, for which Spark has an exception of its own."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason
