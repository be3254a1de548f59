"""The archiver: copies each log entry and data file before expire or vacuum deletes them.

It also reports files that are missing although a retained version needs them. It shares no code with the
project.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from soak.journal import Journal
from soak.log_fold import Fold, entry_name, needed_files, read_entry

PAUSE = 0.005
TABLES_INTERVAL = 0.25
FILES_INTERVAL = 0.3


class Archived:
    """One table's folder and its copy.

    Args:
        folder: the table's folder.
        copy: the folder of the copies.
        journal: the journal for findings.
    """

    def __init__(self, folder: Path, copy: Path, journal: Journal) -> None:
        self._folder = folder
        self._copy = copy
        self._journal = journal
        self._fold = Fold(folder.name)
        self._reported: set[str] = set()
        self._is_lost = False
        (copy / "log").mkdir(parents=True, exist_ok=True)
        (copy / "data").mkdir(exist_ok=True)

    @property
    def is_dropped(self) -> bool:
        """Whether the table was dropped; commits are rare then."""
        return self._fold.last.dropped

    def catch_up(self) -> None:
        """Copy new entries, and link the files that they add."""
        while not self._is_lost:
            version = self._fold.last.version + 1
            name = entry_name(version)
            path = self._folder / "_versioned/log" / name
            entry = read_entry(path)
            if entry is None:
                return
            if entry.get("stub"):
                self._is_lost = True
                self._journal.write("gap", table=self._folder.name, version=version)
                return
            temporary = self._copy / f".{name}"
            with suppress(FileNotFoundError):
                shutil.copy2(path, temporary)
            if (read_entry(temporary) or {}).get("commit_id") != entry["commit_id"]:
                continue  # it was replaced between the two reads
            if (read_entry(temporary) or {}).get("stub"):
                continue
            temporary.replace(self._copy / "log" / name)
            for record in entry.get("added", ()):
                with suppress(FileNotFoundError, FileExistsError):
                    os.link(self._folder / record["path"], self._copy / record["path"])
            state = self._fold.add(entry)
            if version % 256 == 0:
                self._fold.forget_before(state.floor)

    def look_for_files(self) -> None:
        """Report files that are missing although a retained version needs them."""
        if self._is_lost or not self._fold.states or self._fold.last.dropped:
            return
        there = {f"data/{one.name}" for one in (self._folder / "data").glob("*.parquet")}
        self.catch_up()  # files of versions that have expired by now may be deleted
        if self._is_lost or self._fold.last.dropped:
            return
        seen = self._fold.last.version
        for path in sorted(needed_files(self._fold) - there - self._reported):
            if (self._folder / path).exists():
                continue  # it was committed after the listing
            self.catch_up()
            if path in needed_files(self._fold):
                self._reported.add(path)
                self._journal.write("missing", table=self._folder.name, path=path, newest=seen)


def archive(work: Path) -> None:
    """Archive all tables of a warehouse until the file ``over-archiver`` exists.

    Args:
        work: the folder of a run.
    """
    warehouse, journal = work / "warehouse", Journal(work / "journals/archiver.jsonl")
    tables: dict[str, Archived] = {}
    next_tables = next_files = 0.0
    while True:
        is_over = (work / "over-archiver").exists()
        now = time.monotonic()
        is_slow_turn = now >= next_tables or is_over
        if is_slow_turn:
            next_tables = now + TABLES_INTERVAL
            for log in warehouse.glob("soak/*/_versioned/log"):
                folder = log.parents[1]
                if folder.name not in tables:
                    tables[folder.name] = Archived(folder, work / "archive" / folder.name, journal)
        for table in tables.values():
            if is_slow_turn or not table.is_dropped:
                table.catch_up()
        if now >= next_files or is_over:
            next_files = now + FILES_INTERVAL
            for table in tables.values():
                table.look_for_files()
        if is_over:
            return
        time.sleep(PAUSE)
