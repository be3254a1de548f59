"""SQL expressions in updates: ``expr("n + 1")``, with the semantics of Spark's ANSI mode.

Integer overflow and division by zero are errors; an operation on null is null, except ``coalesce``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.expressions.dialects import Call, Field, Node, Value
from versioned_catalog.projection.arrays import struct_child
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.tokens import clip
from versioned_catalog.types.types import Column, Struct, is_repeated
from versioned_catalog.write.expression_parser import parse
from versioned_catalog.write.sql_functions import FUNCTIONS, Values, to_stored


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

    Raises:
        NotFoundError: the expression names an unknown column.
        InvalidRequestError: it names a field inside a list or map.
    """

    def __init__(self, expression: Expression, target: Column, schema: Schema, table: str) -> None:
        self._text = clip(expression.text)
        self._target = target
        self._schema = schema
        self._table = table
        self._term = parse(expression.text)
        _check(self._term, schema, table)

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """Evaluate the expression for a batch of rows with all columns of the table.

        Raises:
            InvalidRequestError: the types do not match, a number overflows, or a divisor is zero.
        """
        try:
            found = to_stored(self._values(self._term, batch), to_arrow_type(self._target.type))
        except (pa.ArrowException, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"{self._table}: {self._text} cannot be computed for column {self._target.name}: "
                f"{reason}"
            ) from None
        return pa.repeat(found, batch.num_rows) if isinstance(found, pa.Scalar) else found

    def _values(self, term: Node, batch: pa.RecordBatch) -> Values:
        match term:
            case Value(scalar):
                return scalar
            case Field(path):
                return _column(self._schema, path, batch)
            case Call(operator, parts):
                values = [self._values(part, batch) for part in parts]
                return FUNCTIONS[operator](*values)


def _check(term: Node, schema: Schema, table: str) -> None:
    match term:
        case Field(path):
            column = schema.find(path)
            if column is None:
                raise NotFoundError(
                    f"{table} has no column {render_path(path)}; the columns are "
                    f"{', '.join(schema.names)}; write text in quotes: 'a'"
                )
            if is_repeated(schema.ancestors(column.id)):
                raise InvalidRequestError(
                    f"{table}: {render_path(path)} has many values in one row, since it is inside a "
                    "list or map; name a column or a field of a struct"
                )
        case Call(_, parts):
            for part in parts:
                _check(part, schema, table)
        case Value():
            return


def _column(schema: Schema, path: ColumnPath, batch: pa.RecordBatch) -> pa.Array:
    column = schema.get(path)
    chain = [*schema.ancestors(column.id), column]
    top = [one.id for one in schema.columns].index(chain[0].id)
    found = batch.column(top)
    for above, inner in pairwise(chain):
        assert isinstance(above.type, Struct), "lists and maps are refused before"
        at = [field.id for field in above.type.fields].index(inner.id)
        parent = found
        found = pc.if_else(
            parent.is_valid(),
            struct_child(parent, at),
            pa.scalar(None, struct_child(parent, at).type),
        )
    return found
