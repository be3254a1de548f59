"""Foreign files, which Spark's Parquet reader reads by the names in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark_versioned.hadoop import root_urls
from pyspark_versioned.native import is_plain
from pyspark_versioned.sql.protocol import messages
from versioned_catalog.model.id_map import Held
from versioned_catalog.model.parquet_forms import JULIAN, Form
from versioned_catalog.model.types import Atom, Column, Decimal, children, walk, with_children
from versioned_catalog.read.projection import Cast, FileLayout, Output, Rebuild, SegmentPlan, Take
from versioned_catalog.storage.opening import check_apart, root_store
from versioned_catalog.storage.store import Store, split_root

_EXACT = {
    Form.UINT8: (Atom.SHORT,),
    Form.UINT16: (Atom.INT,),
    Form.UINT32: (Atom.LONG,),
    Form.UINT64: (Decimal(20, 0),),
    Form.INT96: (Atom.TIMESTAMP,),
    Form.MILLIS: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    **dict.fromkeys(JULIAN, (Atom.DATE, Atom.TIMESTAMP)),
}
"""The forms that Spark's reader converts to these types as Python does."""

_ABSENT = "__versioned_absent_{}"
"""The name of a field that a file does not hold, which no field of the file has."""


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
    """Whether Spark's reader reads the same values from a foreign file as Python."""
    if layout.id_map is None:
        return True
    stored, codec = layout.id_map.columns, layout.id_map.codec
    return codec is None and all(_is_exact(output, stored) for output in plan.outputs)


def _is_exact(output: Output, stored: Mapping[int, Held]) -> bool:
    column = output.column
    match output.step:
        case Take():
            return all(_has_exact_form(part, stored) for part, _ in walk((column,)))
        case Cast(_, source):
            return stored[column.id].form is None and not isinstance(source, Decimal)
        case Rebuild(_, inner):
            return stored[column.id].form is None and all(_is_exact(o, stored) for o in inner)
        case _:
            return True


def _has_exact_form(column: Column, stored: Mapping[int, Held]) -> bool:
    form = stored[column.id].form
    return form is None or column.type in _EXACT.get(form, ())


def by_file_names(plan: SegmentPlan) -> SegmentPlan:
    """A plan whose outputs have the names of the file, not those of the table."""
    stored = {column.id: column for column, _ in walk(plan.needed)}
    outputs = tuple(_renamed_output(output, stored) for output in plan.outputs)
    return replace(plan, outputs=outputs)


def _renamed_output(output: Output, stored: Mapping[int, Column]) -> Output:
    step = output.step
    if isinstance(step, Rebuild):
        step = replace(step, children=tuple(_renamed_output(o, stored) for o in step.children))
    return Output(_renamed(output.column, stored), step)


def _renamed(column: Column, stored: Mapping[int, Column]) -> Column:
    inner = tuple(_renamed(child, stored) for child in children(column.type))
    source = stored.get(column.id)
    name = _ABSENT.format(column.id) if source is None else source.physical_name
    return replace(column, physical_name=name, type=with_children(column.type, inner))


def formed_ids(layout: FileLayout) -> frozenset[int]:
    """The columns that a file stores in another form, so that Parquet can't filter by them."""
    columns = {} if layout.id_map is None else layout.id_map.columns
    return frozenset(column_id for column_id, stored in columns.items() if stored.form is not None)
