"""Where a new stream starts."""

from __future__ import annotations

from datetime import datetime

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import moment
from versioned_catalog.streaming.effects import gone
from versioned_catalog.streaming.follower import Follower
from versioned_catalog.streaming.settings import LATEST, Settings


def starting_version(follower: Follower, settings: Settings) -> int | None:
    """The first version whose commit a stream reads; None if it starts with a snapshot.

    Raises:
        NotFoundError: the version does not exist, is expired or of another incarnation.
        InvalidRequestError: two places to start with are given, or one is malformed.
    """
    wanted, time = settings.starting_version, settings.starting_time
    if wanted is not None and time is not None:
        raise InvalidRequestError(
            f"{follower.name}: give startingVersion or startingTimestamp, not both",
            condition="INVALID_OPTION",
        )
    if wanted is not None:
        return _numbered(follower, wanted)
    return None if time is None else since(follower, time)


def _numbered(follower: Follower, wanted: int | str) -> int:
    state = follower.state
    if wanted == LATEST:
        return state.version + 1
    found = follower.at(wanted).version if isinstance(wanted, str) else wanted
    if not 0 <= found <= state.version + 1:
        raise NotFoundError(
            f"{follower.name} has no version {found}; startingVersion can be {state.version + 1} at "
            "most, the next version",
            condition="VERSION_NOT_FOUND",
        )
    _check_readable(found, state, follower.name)
    return found


def since(follower: Follower, time: datetime | str) -> int:
    """The first version that was committed at a time or later; the next one if there is none yet.

    Raises:
        NotFoundError: it is expired.
        InvalidRequestError: the time is malformed.
    """
    state = follower.state
    found = max(
        follower.version_since(moment(time, f"{follower.name}: startingTimestamp")),
        state.created_version,
    )
    if found <= state.version:
        _check_readable(found, state, follower.name)
    return found


def _check_readable(version: int, state: TableState, table: str) -> None:
    """Refuse a version whose commit can't be read."""
    if version < state.created_version:
        raise gone(table, state.created_version, replaced=True)
    if version < state.floor:
        raise NotFoundError(
            f"{table}: what version {version} added is expired; a stream can start at version "
            f"{state.floor} or later, or with a snapshot: leave out startingVersion",
            condition="VERSION_NOT_FOUND",
        )
