"""The clauses of a column that say how its values are made: computed, or numbers of rows."""

from __future__ import annotations

from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.tokens import Cursor, TokenKind

GREATEST = 2**63 - 1
LEAST = -(2**63)


@dataclass(frozen=True, slots=True)
class Identity:
    """How a column numbers the rows of a table.

    Args:
        always: whether rows bring no number of their own.
        start: the first number.
        step: from one number to the next; negative to count down.

    >>> import pyarrow as pa
    >>> from versioned_catalog import Identity
    >>> table = catalog.create_table("visits", "id BIGINT, page STRING", identity={"id": Identity()})
    >>> table.append(pa.table({"page": ["home", "search"]}))
    2
    >>> table.scan().to_arrow()["id"].to_pylist()
    [1, 2]
    """

    always: bool = True
    start: int = 1
    step: int = 1

    def __post_init__(self) -> None:
        """Raises InvalidRequestError if no BIGINT can count so."""
        if not self.step:
            raise InvalidRequestError(
                "an identity column can't be INCREMENT BY 0; leave it out, or give another step",
                condition="INVALID_VALUE",
            )
        for number in (self.start, self.step):
            if not LEAST <= number <= GREATEST:
                raise InvalidRequestError(
                    f"{number} is no BIGINT, in which an identity column counts; give another number",
                    condition="INVALID_VALUE",
                )

    @property
    def sql(self) -> str:
        """The clause of CREATE TABLE."""
        kind = "ALWAYS" if self.always else "BY DEFAULT"
        return f"GENERATED {kind} AS IDENTITY (START WITH {self.start} INCREMENT BY {self.step})"


Clause = str | Identity
"""The SQL of a generated column, or how an identity column counts."""


def clause_sql(clause: Clause) -> str:
    """The clause in CREATE TABLE."""
    return clause.sql if isinstance(clause, Identity) else f"GENERATED ALWAYS AS ({clause})"


def take_clause(cursor: Cursor) -> Clause:
    """Parse a clause after GENERATED.

    Raises:
        InvalidRequestError: it does not parse, or no BIGINT can count so.
    """
    always = cursor.expect_word("ALWAYS", "BY") == "ALWAYS"
    if not always:
        cursor.expect_word("DEFAULT")
    cursor.expect_word("AS")
    if always and cursor.at_symbol("("):
        return take_expression(cursor)
    cursor.expect_word("IDENTITY")
    return _take_counting(cursor, always)


def _take_counting(cursor: Cursor, always: bool) -> Identity:
    given: dict[str, int] = {}
    if cursor.accept("("):
        while not cursor.accept(")"):
            word = cursor.expect_word("START", "INCREMENT")
            if word in given:
                raise InvalidRequestError(f"{word} is given twice", condition="SYNTAX_ERROR")
            cursor.expect_word("WITH" if word == "START" else "BY")
            given[word] = _take_number(cursor)
            cursor.accept(",")
    return Identity(always, given.get("START", 1), given.get("INCREMENT", 1))


def _take_number(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    text = cursor.token.text
    if (
        cursor.token.kind is not TokenKind.NUMBER
        or not (text.isascii() and text.isdigit())
        or len(text) > 20
    ):
        raise cursor.error("a whole number that a BIGINT holds was expected")
    return sign * int(cursor.take().text)


def take_expression(cursor: Cursor) -> str:
    """The text between parentheses at the cursor, which may hold more of them.

    Raises:
        InvalidRequestError: there is none.
    """
    cursor.expect("(")
    start = end = cursor.token.start
    depth = 0
    while depth or not cursor.at_symbol(")"):
        if cursor.token.kind is TokenKind.END:
            raise cursor.error("')' was expected")
        depth += cursor.at_symbol("(") - cursor.at_symbol(")")
        end = cursor.take().end
    if end == start:
        raise cursor.error("an expression was expected")
    cursor.expect(")")
    return cursor.text[start:end]
