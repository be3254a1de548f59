"""The names of a warehouse: looking them up, and committing changes to them."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from versioned_catalog.log.commit_log import CommitLog
from versioned_catalog.log.entry import WRITER, Head
from versioned_catalog.log.features import WITH_CHECKSUMS, Features, check_writable
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model.type_text import has_control_characters, parse_path, render_path
from versioned_catalog.names.locations import folder_of
from versioned_catalog.names.names_log import (
    WAREHOUSE_CODEC,
    WITH_EXTERNAL_TABLES,
    Name,
    Namespace,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.names.view import View
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.spelling import listed, meant
from versioned_catalog.storage.store import Store

LONGEST_NAME = 255
"""Most characters of one part of a name."""

LONGEST_PATH = 64
"""Most parts of a name."""

LONGEST_FOLDER = 150
"""Most characters of a folder; longer ones are cut to ``CUT_FOLDER`` and get a hash. File systems accept
up to 255 bytes."""

CUT_FOLDER = 120


class _NothingToDo(Exception):
    """Ends a commit that has nothing to change."""


class Names:
    """The namespaces, tables and views of a warehouse."""

    def __init__(self, store: Store) -> None:
        self.log: CommitLog[WarehouseEntry, WarehouseState] = CommitLog(store, WAREHOUSE_CODEC)
        self.store = store
        self._loaded: LoadedState[WarehouseState] | None = None

    def state(self) -> WarehouseState:
        """The newest state of the warehouse."""
        loaded = self._loaded
        self._loaded = self.log.load() if loaded is None else self.log.advance(loaded)
        return self._loaded.state or _empty_warehouse()

    def is_external(self, name: Name) -> bool:
        """Whether a table is external, as of the state that was loaded last; False without a table."""
        state = self.state() if self._loaded is None else self._loaded.state
        table = None if state is None else state.tables.get(full_key(name))
        return table is not None and table.is_external

    def folder(self, location: str) -> Store:
        """The store of a table's folder. See ``folder_of``."""
        return folder_of(self.store, location)

    def existing(self) -> WarehouseState:
        """The newest state of a warehouse whose folder exists.

        Raises:
            NotFoundError: there is no folder. Creating a namespace or a table creates it.
        """
        state = self.state()
        if state.version < 0 and not self.store.exists():
            raise NotFoundError(
                f"there is no warehouse at {self.store.url}: the folder does not exist; check the "
                "path, or create a warehouse there with create_namespace(...)"
            )
        return state

    def has_landed(self, commit_id: str) -> bool:
        """Whether the log holds a commit."""
        newest = self.state().version
        return self.log.find_commit(commit_id, -1, newest) is not None

    @spanned("versioned.names.commit")
    def commit(
        self,
        change: Callable[[WarehouseState], WarehouseEntry | None],
        commit_id: str | None = None,
    ) -> None:
        """Commit the entry that ``change`` builds for the newest state, retrying after lost races.

        ``change`` returns an entry with a head of ``head_of``, or None for nothing to commit; what it
        raises ends the commit. The commit ID is generated if omitted.
        """
        commit_id = commit_id or str(uuid.uuid4())

        def propose(state: WarehouseState | None) -> WarehouseEntry:
            current = state or _empty_warehouse()
            check_writable(current.features, self.store.url)
            entry = change(current)
            if entry is None:
                raise _NothingToDo
            needed = WITH_CHECKSUMS if current.version < 0 else current.features
            if any(table.is_external for table in entry.set_tables):
                needed |= WITH_EXTERNAL_TABLES
            head = Head(
                table_uuid=current.warehouse_uuid,
                version=current.version + 1,
                commit_id=commit_id,
                base_version=current.version,
                time=UNIX_EPOCH,
                operation=entry.head.operation,
                writer=WRITER,
                features=needed | entry.head.features,
            )
            return replace(entry, head=head)

        self.state()
        assert self._loaded is not None
        with suppress(_NothingToDo):
            self._loaded = self.log.commit(self._loaded, commit_id, propose).loaded

    def find(self, state: WarehouseState, name: Name) -> TableName:
        """Look up a table by name. Raises NotFoundError if there is no such table."""
        table_name = state.tables.get(full_key(name))
        if table_name is None:
            check_namespace(state, name[:-1], wanted=name)
            if full_key(name) in state.views:
                raise NotFoundError(
                    f"{render_path(name)} is a view, not a table; load it with load_view, or drop it "
                    "with drop_view",
                    condition="TABLE_NOT_FOUND",
                )
            near = listed_beside(name, (table.name for table in state.tables.values()))
            raise NotFoundError(
                f"there is no table {render_path(name)} in {self.store.url}; tables: {near}",
                condition="TABLE_NOT_FOUND",
            )
        return table_name


def head_of(operation: str, features: Features | None = None) -> Head:
    """The head of an entry before ``Names.commit`` completes it.

    ``features`` are needed from this commit on, besides those that the warehouse needs already.
    """
    return Head("", 0, "", -1, UNIX_EPOCH, operation, features=features or Features())


def _empty_warehouse() -> WarehouseState:
    """A warehouse before its first commit."""
    return WarehouseState(str(uuid.uuid4()), -1, "", UNIX_EPOCH)


def parse_namespace(name: str | Name | None) -> Name:
    """The parts of a namespace's name; None and ``()`` are the root."""
    return () if name is None or name == () else parse_path(name)


def check_new_name(name: Name) -> None:
    """Refuse a name that is too long, or that a terminal would execute.

    Raises:
        InvalidRequestError: it has too many parts, or a part is too long or holds control characters.
    """
    if len(name) > LONGEST_PATH:
        raise InvalidRequestError(f"a name has up to {LONGEST_PATH} parts, got {len(name)}")
    for part in name:
        if len(part) > LONGEST_NAME:
            raise InvalidRequestError(
                f"the name {part[:40]!r}… has {len(part)} characters; use up to {LONGEST_NAME}"
            )
        if has_control_characters(part):
            raise InvalidRequestError(f"the name {part!r} holds control characters; choose another")


def check_free(state: WarehouseState, name: Name) -> None:
    """Refuse a name for a table or view that is taken or illegal, or whose namespace does not exist."""
    check_new_name(name)
    for kind, taken in (("table", state.tables), ("view", state.views)):
        if full_key(name) in taken:
            raise AlreadyExistsError(
                f"the {kind} {render_path(name)} is there already", condition="TABLE_ALREADY_EXISTS"
            )
    check_namespace(state, name[:-1])


def check_namespace(state: WarehouseState, name: Name, wanted: Name | None = None) -> None:
    """Refuse a namespace that does not exist.

    Args:
        wanted: the table that is looked up in it; the error suggests similar ones elsewhere.
    """
    if name and full_key(name) not in state.namespaces:
        names = sorted(render_path(namespace.name) for namespace in state.namespaces.values())
        near = listed(render_path(name), names)
        raise NotFoundError(
            f"there is no namespace {render_path(name)}; create it with "
            f"create_namespace({render_path(name)!r}); namespaces: {near}{_similar(state, wanted)}",
            condition="NAMESPACE_NOT_FOUND",
        )


def _similar(state: WarehouseState, wanted: Name | None) -> str:
    """A hint at tables in other namespaces: of the same name, or of a similar full name."""
    if wanted is None:
        return ""
    names = sorted(table.name for table in state.tables.values())
    same = [name for name in names if full_key(name[-1:]) == full_key(wanted[-1:])]
    by_text = {"_".join(name): name for name in names}
    near = meant("_".join(wanted).replace(".", "_"), by_text)
    found = dict.fromkeys([*([by_text[near]] if near else []), *same[:3]])
    if not found:
        return ""
    return f"; did you mean the table {' or '.join(map(render_path, found))}?"


def names_inside(
    state: WarehouseState,
    namespace: str | Name | None,
    named: Mapping[Name, Namespace | TableName | View],
) -> list[Name]:
    """The names of tables, views or namespaces that are directly inside a namespace, or the root.

    Raises:
        NotFoundError: there is no such namespace.
    """
    above = parse_namespace(namespace)
    check_namespace(state, above)
    return [value.name for key, value in named.items() if key[:-1] == full_key(above)]


def listed_beside(name: Name, names: Iterable[Name]) -> str:
    """List tables or views for the error about a missing one, without the namespace they share."""
    above = full_key(name[:-1])
    shown = (other[-1:] if full_key(other[:-1]) == above else other for other in sorted(names))
    return listed(render_path(name[-1:]), map(render_path, shown))


def check_properties(properties: Mapping[str, str] | None) -> dict[str, str]:
    """Copy properties into a dictionary.

    Raises:
        InvalidRequestError: they are not a mapping of text to text.
    """
    checked = properties or {}
    if not isinstance(checked, Mapping) or not all(
        isinstance(part, str) for pair in checked.items() for part in pair
    ):
        raise InvalidRequestError("properties must be a mapping of text to text")
    return dict(checked)


def altered(
    new: Mapping[str, str] | None, unset: Iterable[str]
) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """A function that sets and removes properties, for names that may change meanwhile.

    Raises:
        InvalidRequestError: an argument is not text, or not a list of text.
    """
    added = check_properties(new)
    removed = [] if isinstance(unset, str) else list(unset)
    if isinstance(unset, str) or not all(isinstance(key, str) for key in removed):
        raise InvalidRequestError(f"keys to unset must be a list of text, got {unset!r}")
    return lambda old: {key: old[key] for key in old if key not in removed} | added


def safe_folder(name: Name) -> str:
    """The folder of a name (FORMAT.md, section 12)."""
    return "/".join(map(_safe_part, name))


def _safe_part(part: str) -> str:
    reserved = part.lower() in ("data", "_versioned")  # folders of a table or warehouse itself
    head = _percent(part[0]) if reserved else ""
    safe = head + re.sub(r"[^A-Za-z0-9_-]", lambda m: _percent(m[0]), part[1 if reserved else 0 :])
    if len(safe) <= LONGEST_FOLDER:
        return safe
    return f"{safe[:CUT_FOLDER]}-{hashlib.sha256(part.encode()).hexdigest()[:16]}"


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
