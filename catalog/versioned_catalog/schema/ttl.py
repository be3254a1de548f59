"""Row expiry by age: the property ``ttl`` (FORMAT.md, section 13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.maintained import APPLIED_PROPERTIES, SOURCE, SOURCE_COLUMNS
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Atom, DataType

TTL = "ttl"
TTL_FLOOR = "ttl_floor"
"""The property that keeps rows hidden that an earlier ``ttl`` hid: microseconds since 1970."""

_DURATION = re.compile(r"(\d{1,9})\s*(second|minute|hour|day|week)s?", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


MAINTAINED = frozenset({TTL_FLOOR, SOURCE, SOURCE_COLUMNS, APPLIED_PROPERTIES})
"""Properties that users neither see nor set."""


def user_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that users set, without those that the table maintains."""
    return {key: text for key, text in properties.items() if key not in MAINTAINED}


def parse_ttl(properties: Mapping[str, str]) -> timedelta | None:
    """The age from which rows are hidden, or None if there is no limit.

    Raises:
        InvalidRequestError: the property is not a duration.
    """
    text = properties.get(TTL)
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or not int(found[1]):
        raise InvalidRequestError(
            f"the property {TTL} is {text!r}; write a number and a unit, as in '30 days' or '12 hours'",
            condition="INVALID_OPTION",
        )
    try:
        return timedelta(**{f"{found[2].lower()}s": int(found[1])})
    except OverflowError:
        raise InvalidRequestError(
            f"the property {TTL} is {text!r}, and more than {timedelta.max.days} days; unset it to keep "
            "all rows",
            condition="INVALID_OPTION",
        ) from None


def check_ttl(properties: Mapping[str, str], schema: Schema) -> None:
    """Check that a table with a ``ttl`` has a time index.

    Raises:
        InvalidRequestError: it has none.
    """
    if parse_ttl(properties) is not None and schema.time_index is None:
        raise InvalidRequestError(
            f"the property {TTL} needs a time index, which is set when a table is created",
            condition="INVALID_OPTION",
        )


def hides_rows(properties: Mapping[str, str]) -> bool:
    """Whether rows of a table may be hidden by their age."""
    return TTL in properties or TTL_FLOOR in properties


def ttl_cutoff(properties: Mapping[str, str], time: datetime) -> datetime | None:
    """The time before which rows of a snapshot are hidden, or None if none are.

    ``time`` is the snapshot's, which is not in the future.
    """
    ttl, floor = parse_ttl(properties), _floor(properties, time)
    cuts = [] if floor is None else [floor]
    if ttl is not None:
        cuts.append(time - ttl if time - _EARLIEST > ttl else _EARLIEST)
    return max(cuts, default=None)


def _floor(properties: Mapping[str, str], time: datetime) -> datetime | None:
    """The time before which an earlier ``ttl`` hid rows.

    A time after the snapshot comes from a clock that was ahead. It is ignored, so no row is lost.
    """
    text = properties.get(TTL_FLOOR)
    if text is None or int(text) > (time - _EPOCH) // _MICROSECOND:
        return None
    return _EPOCH + int(text) * _MICROSECOND


def without_false_floor(properties: Mapping[str, str], time: datetime) -> dict[str, str]:
    """Properties without a ``ttl_floor`` after their snapshot, which would take effect later."""
    is_false = TTL_FLOOR in properties and _floor(properties, time) is None
    return {key: text for key, text in properties.items() if not (is_false and key == TTL_FLOOR)}


def with_ttl_floor(
    before: Mapping[str, str], time: datetime, after: dict[str, str]
) -> dict[str, str]:
    """The properties after an ALTER, extended so that a new ``ttl`` leaves hidden rows hidden.

    ``before`` and ``time`` are of the snapshot that is altered; the time is not in the future.
    """
    if before.get(TTL) == after.get(TTL):
        return after
    cut = ttl_cutoff(before, time)
    return after if cut is None else {**after, TTL_FLOOR: str((cut - _EPOCH) // _MICROSECOND)}


def in_time_index(cut: datetime, type_: DataType) -> date | datetime:
    """Convert a cutoff time to the type of the time index; a DATE is rounded up to a whole day."""
    match type_:
        case Atom.TIMESTAMP:
            return cut
        case Atom.TIMESTAMP_NTZ:
            return cut.replace(tzinfo=None)
        case _:
            day = cut.date()
            return day if cut.time() == datetime.min.time() else day + timedelta(days=1)
