"""Entries of transactions over several tables, and the decisions about them (FORMAT.md, section 19)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .documents import check_features, check_format, members, read_entry
from .problems import Corrupt

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DECISION = "format transaction decision checksum"
ABORTED = "abort"


def decided(folder: Path, entry: dict[str, Any]) -> dict[str, Any] | None:
    """An entry as its transaction makes it count, in the log of a folder; None before it is decided.

    That of a transaction that was aborted gets the operation ``abort``.
    """
    if "transaction" not in entry:
        return entry
    what = f"entry {entry.get('version')}"
    features = check_features(entry, what)
    transaction = members(entry["transaction"], "id warehouse levels", "", f"{what}: transaction")
    known = UUID.fullmatch(str(transaction["id"])) and transaction["levels"] in range(65)
    if not known or "transactions" not in features:
        raise Corrupt(f"{what}: the transaction {transaction}, or the feature is missing")
    decision = decision_of(folder, entry["version"], transaction)
    if decision is None:
        return None
    alone = {name: value for name, value in entry.items() if name != "transaction"}
    return alone if decision == "commit" else alone | {"operation": ABORTED}


def decision_of(folder: Path, version: int, transaction: dict[str, Any]) -> str | None:
    """What the copy beside the log says, or else the warehouse."""
    above = [folder.absolute(), *folder.absolute().parents]
    copy = folder / "_versioned" / "tx" / f"{version:020}.json"
    places = [copy]
    if transaction["levels"] < len(above):
        warehouse = above[transaction["levels"]]
        places.append(warehouse / "_versioned" / "tx" / f"{transaction['id']}.json")
    for place in places:
        if place.exists():
            decision = members(read_entry(place), DECISION, "", place.name)
            check_format(decision, place.name)
            if decision["transaction"] != transaction["id"]:
                raise Corrupt(f"{place}: the decision about another transaction")
            if decision["decision"] not in ("commit", ABORTED):
                raise Corrupt(f"{place}: the decision {decision['decision']}")
            return str(decision["decision"])
    return None
