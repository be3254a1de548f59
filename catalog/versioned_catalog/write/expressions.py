"""SQL expressions in updates: ``expr("n + 1")``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import clip
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, is_repeated
from versioned_catalog.read.arrays import column_of
from versioned_catalog.read.dialects import Field
from versioned_catalog.read.expressions import evaluate, parse
from versioned_catalog.read.functions import Values, to_stored


@dataclass(frozen=True, slots=True)
class Expression:
    """An SQL expression over the row as it was before the update. See ``expr``."""

    text: str


def expr(text: str) -> Expression:
    """Return an SQL expression for ``Table.update``; without ``expr``, text is the value itself.

    Args:
        text: columns by name or path, numbers, ``'text'``, TRUE, FALSE, NULL, ``+ - * / %``, ``||`` and
            ``coalesce(a, b, …)``, with Spark's ANSI semantics.

    Raises:
        InvalidRequestError: the text cannot be parsed.

    >>> from versioned_catalog import expr
    >>> table = catalog.create_table("stock", "item STRING, amount BIGINT")
    >>> table.append(pa.table({"item": ["bolt", "nut"], "amount": [4, None]}))
    1
    >>> table.update({"amount": expr("coalesce(amount, 0) + 1")})
    2
    >>> table.scan().to_arrow()["amount"].to_pylist()
    [5, 1]
    """
    parse(text)
    return Expression(text)


class Evaluator:
    """Evaluates an expression, in the type of the column that it is assigned to.

    Args:
        expression: the expression.
        target: the column that it is assigned to.
        schema: the table schema.
        table: the table's name in errors.
    """

    def __init__(self, expression: Expression, target: Column, schema: Schema, table: str) -> None:
        self._text = clip(expression.text)
        self._target = target
        self._schema = schema
        self._table = table
        self._term = parse(expression.text)

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """Evaluate the expression for a batch of rows with all columns of the table.

        Raises:
            NotFoundError: the expression names an unknown column.
            InvalidRequestError: it names a field inside a list or map, the types do not match, a number
                overflows, or a divisor is zero.
        """
        try:
            values = evaluate(self._term, partial(self._column, batch))
            values = to_stored(values, to_arrow_type(self._target.type))
        except (pa.ArrowException, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"{self._table}: {self._text} cannot be computed for column {self._target.name}: "
                f"{reason}"
            ) from None
        return pa.repeat(values, batch.num_rows) if isinstance(values, pa.Scalar) else values

    def _column(self, batch: pa.RecordBatch, field: Field) -> Values:
        return column_of(batch, self._schema, self._column_id(field.path))

    def _column_id(self, path: ColumnPath) -> int:
        column = self._schema.find(path)
        if column is None:
            raise NotFoundError(
                f"{self._table} has no column {render_path(path)}; the columns are "
                f"{', '.join(self._schema.names)}; write text in quotes: 'a'"
            )
        if is_repeated(self._schema.ancestors(column.id)):
            raise InvalidRequestError(
                f"{self._table}: {render_path(path)} has many values in one row, since it is inside a "
                "list or map; name a column or a field of a struct"
            )
        return column.id
