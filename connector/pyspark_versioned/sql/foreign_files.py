"""Files that somebody else wrote, as Spark's Parquet reader reads them: by the names in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark_versioned.hadoop import root_urls
from pyspark_versioned.native import is_plain
from pyspark_versioned.sql.protocol import messages
from versioned_catalog.model.forms import JULIAN, Form
from versioned_catalog.model.id_map import Held
from versioned_catalog.model.types import Atom, Column, Decimal, children, walk, with_children
from versioned_catalog.read.projection import Cast, FileLayout, Output, Rebuild, SegmentPlan, Take
from versioned_catalog.storage.opening import check_apart, root_store
from versioned_catalog.storage.root_paths import split_root
from versioned_catalog.storage.store import Store

_EXACT = {
    Form.UINT8: (Atom.SHORT,),
    Form.UINT16: (Atom.INT,),
    Form.UINT32: (Atom.LONG,),
    Form.UINT64: (Decimal(20, 0),),
    Form.INT96: (Atom.TIMESTAMP,),
    Form.MILLIS: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    **dict.fromkeys(JULIAN, (Atom.DATE, Atom.TIMESTAMP)),
}
"""The forms that Spark's reader turns into these types as we do."""

_ABSENT = "__versioned_absent_{}"
"""The name of a field that a file does not hold: one that it has can't be taken for it."""


class Urls:
    """The URLs of external segments that Spark can read itself."""

    def __init__(self, store: Store, table: messages.TableRef) -> None:
        self._store = store
        self._roots = root_urls(table.location, table.storage)

    def of(self, path: str) -> str | None:
        """The URL of a segment; None if Spark can't open it, or for one in the table's folder.

        Raises:
            CorruptTableError: the path leads outside its root, or into the table's folder.
        """
        place = split_root(path)
        if place is None or place.root not in self._roots or not is_plain(place.path):
            return None
        check_apart(self._store, root_store(self._store, place), place)
        return f"{self._roots[place.root].rstrip('/')}/{place.path}"


def reads_exactly(plan: SegmentPlan, layout: FileLayout) -> bool:
    """Whether Spark's reader turns what a file of somebody else holds into the same values as we do."""
    if layout.id_map is None:
        return True
    held, codec = layout.id_map.columns, layout.id_map.codec
    return codec is None and all(_is_exact(output, held) for output in plan.outputs)


def _is_exact(output: Output, held: Mapping[int, Held]) -> bool:
    column = output.column
    match output.step:
        case Take():
            return all(_is_own(one, held) for one, _ in walk((column,)))
        case Cast(_, source):
            return held[column.id].form is None and not isinstance(source, Decimal)
        case Rebuild(_, inner):
            return held[column.id].form is None and all(_is_exact(one, held) for one in inner)
        case _:
            return True


def _is_own(column: Column, held: Mapping[int, Held]) -> bool:
    form = held[column.id].form
    return form is None or column.type in _EXACT.get(form, ())


def by_file_names(plan: SegmentPlan) -> SegmentPlan:
    """A plan whose outputs have the names of the file, not those of the table."""
    held = {column.id: column for column, _ in walk(plan.needed)}
    outputs = tuple(_renamed_output(output, held) for output in plan.outputs)
    return replace(plan, outputs=outputs)


def _renamed_output(output: Output, held: Mapping[int, Column]) -> Output:
    step = output.step
    if isinstance(step, Rebuild):
        step = replace(step, children=tuple(_renamed_output(one, held) for one in step.children))
    return Output(_renamed(output.column, held), step)


def _renamed(column: Column, held: Mapping[int, Column]) -> Column:
    inner = tuple(_renamed(child, held) for child in children(column.type))
    found = held.get(column.id)
    name = _ABSENT.format(column.id) if found is None else found.physical_name
    return replace(column, physical_name=name, type=with_children(column.type, inner))


def formed_ids(layout: FileLayout) -> frozenset[int]:
    """The columns that a file stores in another form, so that Parquet can't filter by them."""
    columns = {} if layout.id_map is None else layout.id_map.columns
    return frozenset(column_id for column_id, held in columns.items() if held.form is not None)
