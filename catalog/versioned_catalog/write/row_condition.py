"""The condition of an overwrite of some rows, which the new rows must match, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.reader import Lookup
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.evaluate import keep_mask
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import BoundFilter, UnboundFilter, columns_of
from versioned_catalog.expressions.where import parse_where
from versioned_catalog.projection.metadata_columns import is_metadata
from versioned_catalog.scan.columns import resolve
from versioned_catalog.schema.seen import Seen
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.types import Atom, Column


@dataclass(frozen=True)
class RowCondition:
    """A condition on the rows to write.

    Args:
        text: the condition as the user wrote it.
        unbound: the same, by names.
        bound: the same, on the stored columns.
        columns: the stored columns.
    """

    text: str
    unbound: UnboundFilter
    bound: BoundFilter
    columns: Sequence[Column]

    @staticmethod
    def of(text: str, seen: Seen, table: str) -> RowCondition:
        """Parse a condition on the columns of a table.

        Raises:
            InvalidRequestError: it does not parse, or compares a TIMESTAMP, whose text depends on a
                session's time zone.
            NotFoundError: a column does not exist.
        """
        unbound, stored = parse_where(text), seen.stored

        def column_at(path: ColumnPath) -> Column:
            found = resolve(seen.schema, path)
            if is_metadata(found):
                raise InvalidRequestError(
                    f"{table}: a row to write has no {found.name} yet; choose the rows to replace by "
                    "columns of the table",
                    condition="NOT_SUPPORTED",
                )
            return stored.column(found.id)

        bound = bind_filter(unbound, column_at)
        for one in columns_of(bound):
            if stored.column(one).type is Atom.TIMESTAMP:
                raise InvalidRequestError(
                    f"{table}: a condition on {stored.column(one).name} of type TIMESTAMP depends on "
                    "the session's time zone, which is not known by path; write by table name",
                    condition="NOT_SUPPORTED",
                )
        return RowCondition(text, unbound, bound, stored.columns)

    def checked(self, batches: Iterable[pa.RecordBatch], table: str) -> Iterator[pa.RecordBatch]:
        """The rows as they are.

        Raises:
            InvalidRequestError: a row does not match.
        """
        for batch in batches:
            matches = keep_mask(self.bound, Lookup(self.columns, batch), batch.num_rows)
            if not pc.all(matches, min_count=0).as_py():
                raise mismatch(self.text, table)
            yield batch


def mismatch(text: str, table: str) -> InvalidRequestError:
    """The error for rows that an overwrite would add beside those that it replaces."""
    return InvalidRequestError(
        f"{table}: a row to write does not match replaceWhere ({text}), so it would be added beside "
        "rows that are not replaced; nothing was changed. Filter the rows by that condition, or widen "
        "the condition"
    )
