"""Entries of transactions over several tables, and the decisions about them (FORMAT.md, section 19).

An entry that names a transaction counts only once that is committed. The decision is one file in the
warehouse, which is put if absent, and is then copied to the folder of each table.
"""

from __future__ import annotations

import enum
import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from versioned_catalog.errors import CommitOutcomeUnknown, CorruptTableError, StorageError
from versioned_catalog.log.bounded_files import dump_document, load_document, naming_file
from versioned_catalog.log.features import DECISIONS, FORMAT, entry_path
from versioned_catalog.model.schema_json import Json, check_members, member
from versioned_catalog.storage.failures import retry_while
from versioned_catalog.storage.opening import folder_above
from versioned_catalog.storage.store import Put, Store

GRACE = timedelta(seconds=5)
"""How long a writer waits for the decision about an entry in its way before it aborts it."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2
DECISION_BYTES = 4096
MOST_LEVELS = 64
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class UnsettledError(StorageError):
    """A writer can't decide a transaction whose entry is in its way, so nothing was written."""


class Decision(enum.Enum):
    """What became of a transaction."""

    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True)
class Prepared:
    """The transaction that an entry belongs to.

    Args:
        id: UUID of the transaction.
        warehouse: UUID of the warehouse that holds the decision.
        levels: how many folders the warehouse is above the folder of the log; 0 for its own log.
    """

    id: str
    warehouse: str
    levels: int


_MEMBERS = frozenset({"id", "warehouse", "levels"})
_DECISION_MEMBERS = frozenset({"format", "transaction", "decision"})


def prepared_to_json(prepared: Prepared) -> Json:
    """The member ``transaction`` of an entry."""
    return {"id": prepared.id, "warehouse": prepared.warehouse, "levels": prepared.levels}


def prepared_from_json(value: Json) -> Prepared:
    """The transaction of an entry.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    check_members(value, _MEMBERS)
    prepared = Prepared(
        member(value, "id", str), member(value, "warehouse", str), member(value, "levels", int)
    )
    if not _UUID.fullmatch(prepared.id) or not 0 <= prepared.levels <= MOST_LEVELS:
        raise CorruptTableError("the transaction of the entry has no UUID, or an impossible place")
    return prepared


def decision_path(transaction_id: str) -> str:
    """Path of a decision in the warehouse."""
    return f"{DECISIONS}/{transaction_id}.json"


def copy_path(version: int) -> str:
    """Path of the copy of a decision, in the folder of a table, for the entry of a version."""
    return f"{DECISIONS}/{version:020d}.json"


def _decision_to_bytes(transaction_id: str, decision: Decision) -> bytes:
    return dump_document(
        {"format": FORMAT, "transaction": transaction_id, "decision": decision.value}
    )


def _read(store: Store, path: str, transaction_id: str) -> Decision | None:
    data = store.read(path, DECISION_BYTES)
    if data is None:
        return None
    what = f"{store.url}/{path}"
    value = load_document(data, what, needs_checksum=True)
    with naming_file(what):
        check_members(value, _DECISION_MEMBERS)
        if member(value, "transaction", str) != transaction_id:
            raise CorruptTableError(f"it decides another transaction than {transaction_id}")
        text = member(value, "decision", str)
        if text not in {decision.value for decision in Decision}:
            raise CorruptTableError(f"the decision {text[:50]!r} is unknown")
    return Decision(text)


def _warehouse_of(store: Store, prepared: Prepared) -> Store | None:
    return store if prepared.levels == 0 else folder_above(store, prepared.levels)


def known_decision(store: Store, version: int, prepared: Prepared) -> Decision | None:
    """The decision about the transaction of an entry; None as long as there is none.

    Args:
        store: the folder of the log.
        version: the version of the entry.

    Raises:
        CorruptTableError: a file is damaged.
        StorageError: it can't be read.
    """
    if prepared.levels:
        copied = _read(store, copy_path(version), prepared.id)
        if copied is not None:
            return copied
    warehouse = _warehouse_of(store, prepared)
    if warehouse is None:
        return None
    return _read(warehouse, decision_path(prepared.id), prepared.id)


def settle(store: Store, version: int, put_at: datetime, prepared: Prepared) -> Decision:
    """Decide the transaction of an entry that is in the way of a writer, and copy the decision.

    It waits for a while, then aborts it. An entry that is older than that is not waited for.

    Args:
        store: the folder of the log.
        version, put_at: the version and the time of the entry.

    Raises:
        UnsettledError: it can't be decided.
        StorageError: the store can't be asked.
    """
    decision, pause = known_decision(store, version, prepared), _FIRST_PAUSE
    end = _deadline(store, put_at)
    while decision is None and time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
        decision = known_decision(store, version, prepared)
    if decision is None:
        warehouse = _warehouse_of(store, prepared)
        if warehouse is None or (prepared.levels and not _is_warehouse(warehouse, prepared)):
            raise UnsettledError(
                f"{store.url}: version {version} belongs to the transaction {prepared.id}, whose "
                f"outcome is in its warehouse, {prepared.levels} folders above, and there is no such "
                "warehouse: the table was moved. Nothing was written. Copy the file "
                f"{decision_path(prepared.id)} of the warehouse, if it has one, to "
                f"{copy_path(version)} of this folder; or move the table back"
            )
        try:
            decision = decide(warehouse, prepared.id, Decision.ABORT)
        except (CommitOutcomeUnknown, StorageError) as error:
            raise UnsettledError(
                f"{store.url}: version {version} belongs to the transaction {prepared.id}, and whether "
                f"that was committed can't be found out; nothing was written: {error}"
            ) from error
    copy_decision(store, version, prepared, decision)
    return decision


def _deadline(store: Store, put_at: datetime) -> float:
    age = store.time() - put_at
    return time.monotonic() + max(timedelta(0), min(GRACE, GRACE - age)).total_seconds()


def _is_warehouse(store: Store, prepared: Prepared) -> bool:
    """Whether a folder is that of the warehouse: a stranger's table must not write into any folder."""
    data = store.read(entry_path(0))
    if data is None:
        return False
    first = load_document(data, f"{store.url}/{entry_path(0)}")
    return bool(first.get("table_uuid") == prepared.warehouse)


def decide(warehouse: Store, transaction_id: str, wish: Decision) -> Decision:
    """Decide a transaction, unless it is decided; return what was decided.

    Raises:
        CommitOutcomeUnknown: the store did not say.
        StorageError: nothing was written.
    """
    path, data = decision_path(transaction_id), _decision_to_bytes(transaction_id, wish)
    tries = 0

    def put() -> Put:
        nonlocal tries
        tries += 1
        try:
            outcome = warehouse.put_if_absent(path, data)
            if tries > 1 and outcome is Put.UNKNOWN and warehouse.read(path) is not None:
                return Put.TAKEN
            return outcome
        except StorageError as error:
            if tries == 1:
                raise
            raise _unknown(warehouse, transaction_id) from error

    match retry_while(lambda outcome: outcome is Put.UNKNOWN, put):
        case Put.WON:
            return wish
        case Put.UNKNOWN:
            raise _unknown(warehouse, transaction_id)
        case Put.TAKEN:
            pass
    try:
        # Only the transaction itself commits it: if a reply was lost, the file says what it put.
        decision = _read(warehouse, path, transaction_id)
    except StorageError as error:
        raise _unknown(warehouse, transaction_id) from error
    if decision is None:
        raise _unknown(warehouse, transaction_id)
    return decision


def find_decision(warehouse: Store, transaction_id: str) -> Decision | None:
    """What was decided about a transaction; None if nothing was."""
    return _read(warehouse, decision_path(transaction_id), transaction_id)


def copy_decision(store: Store, version: int, prepared: Prepared, decision: Decision) -> None:
    """Copy a decision to the folder of a table, so that its log can be read without the warehouse."""
    if prepared.levels:
        store.put_if_absent(copy_path(version), _decision_to_bytes(prepared.id, decision))


def _unknown(warehouse: Store, transaction_id: str) -> CommitOutcomeUnknown:
    return CommitOutcomeUnknown(
        f"{warehouse.url} did not say whether the transaction {transaction_id} was decided; it may "
        "still be: ask Catalog.find_transaction before you run it again",
        transaction_id,
    )
