"""A tokenizer for SQL types, column lists, literals and conditions, and text for messages."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError


class TokenKind(enum.Enum):
    """The kind of a token."""

    WORD = enum.auto()
    NAME = enum.auto()
    STRING = enum.auto()
    NUMBER = enum.auto()
    SYMBOL = enum.auto()
    END = enum.auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Args:
        kind: the kind; NAME is a word in backticks.
        text: the text without quotes and with escapes resolved.
        start, end: the offsets in the source.
    """

    kind: TokenKind
    text: str
    start: int
    end: int


# Spark reads 1a as a word, but 1e5 and 10L as numbers.
_TOKEN = re.compile(
    r"""
      (?P<space>  \s+ | --[^\n]* | /\*.*?\*/ )
    | (?P<raw>    [rR](?:'[^']*'|"[^"]*") )
    | (?P<string> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<name>   `(?:[^`]|``)*` )
    | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+) (?:[eE][+-]?[0-9]+)?
                  (?:[bB][dD]|[yYsSlLfFdD])? (?!\w) )
    | (?P<word>   \w+ )
    | (?P<symbol> [^\w\s'"`] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
# Kept with their backslash, which means something in the pattern of a LIKE.
_KEPT = "%_"


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, without white space and comments; the last one is END.

    Raises:
        InvalidRequestError: a quote is not closed, or an escape is not a character.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidRequestError(
                f"the {text[at]} at {place_in(text, at)} is not closed"
                + ("" if is_long(text) else f", in {clip(text)!r}"),
                condition="SYNTAX_ERROR",
            )
        at = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(match))
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


def is_long(text: str) -> bool:
    """Whether a text has several lines, in which no place is found by counting characters."""
    return "\n" in text.strip()


def place_in(text: str, offset: int) -> str:
    """Where an offset is: its character, or in several lines the line, the column and the line's text.

    >>> place_in("id INTT", 3), place_in("id INT,\\n  n INTT\\n", 12)
    ('character 4', "line 2, column 5 ('n INTT')")
    """
    if not is_long(text):
        return f"character {offset + 1}"
    offset = min(offset, len(text.rstrip()))
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:].partition("\n")[0].strip()
    shown = f" ({clip(line)!r})" if line else ""
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - start + 1}{shown}"


def line_comments(text: str) -> list[tuple[int, str]]:
    """The comments ``-- ...`` of a text: the offset of each, and the text after the dashes, stripped."""
    comments: list[tuple[int, str]] = []
    at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        if match[0].startswith("--") and match.lastgroup == "space":
            comments.append((match.start(), match[0][2:].strip()))
    return comments


def _token(match: re.Match[str]) -> Token:
    text = match[0]
    start, end = match.span()
    match match.lastgroup:
        case "raw":
            return Token(TokenKind.STRING, text[2:-1], start, end)
        case "string":
            body = text[1:-1].replace(text[0] * 2, text[0]) if "\\" not in text else _undouble(text)
            return Token(TokenKind.STRING, _unescape(body), start, end)
        case "name":
            return Token(TokenKind.NAME, text[1:-1].replace("``", "`"), start, end)
        case "number":
            return Token(TokenKind.NUMBER, text, start, end)
        case "word":
            return Token(TokenKind.WORD, text, start, end)
        case _:
            return Token(TokenKind.SYMBOL, text, start, end)


def _undouble(text: str) -> str:
    quote = text[0]
    # An escaped quote does not count as half of a doubled one.
    return re.sub(rf"(\\.)|{quote}{quote}", lambda m: m[1] or quote, text[1:-1], flags=re.DOTALL)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def resolve(match: re.Match[str]) -> str:
        short, long, octal, letter = match.groups()
        if letter is not None:
            return f"\\{letter}" if letter in _KEPT else _LETTERS.get(letter, letter)
        code = int(short or long, 16) if octal is None else int(octal, 8)
        if code > 0x10FFFF:
            raise InvalidRequestError(
                f"the escape {match[0]} is not a character", condition="SYNTAX_ERROR"
            )
        return chr(code)

    resolved = _ESCAPE.sub(resolve, text)
    try:
        # Java writes a character beyond U+FFFF as two escapes.
        return resolved.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InvalidRequestError(
            f"the string {clip(text)} holds half a character (an unpaired surrogate)"
        ) from None


_UNSAFE = re.compile(r"['\\\x00-\x1f\x7f-\x9f\u2028\u2029]")


def sql_string(text: str) -> str:
    """The SQL string literal of a text."""

    def escape(match: re.Match[str]) -> str:
        ch = match[0]
        return f"\\{ch}" if ch in "'\\" else f"\\u{ord(ch):04x}"

    return f"'{_UNSAFE.sub(escape, text)}'"


def clip(text: str, length: int = 100) -> str:
    """A text for a message, cut to ``length`` characters."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def clip_repr(value: object) -> str:
    """The ``repr`` of a value for a message, cut if it is long."""
    try:
        return clip(repr(value))
    except (ValueError, RecursionError):  # Python writes no integers of thousands of digits
        return f"a very large {type(value).__name__}"


class Cursor:
    """A position in a text that is being parsed; ``what`` names it in messages: ``type``, …

    ``columns`` are the offsets of the columns that were parsed, nested ones too, in pre-order.
    """

    def __init__(self, text: str, what: str) -> None:
        if not isinstance(text, str):
            raise InvalidRequestError(f"a {what} must be a str, not {type(text).__name__}")
        self.text = text
        self._what = what
        self._tokens = tokenize(text)
        self._at = 0
        self._placed = False
        self.columns: list[int] = []

    @property
    def start(self) -> int:
        """The offset of the first token."""
        return self._tokens[0].start

    def begin_column(self) -> None:
        """Record that a column begins at the next token."""
        self.columns.append(self.token.start)

    @property
    def place(self) -> int:
        """How many tokens were consumed; set it to an earlier value to parse from there again."""
        return self._at

    @place.setter
    def place(self, at: int) -> None:
        self._at = at

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    def take(self) -> Token:
        """Consume and return the next token; END is never consumed."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def peek(self) -> Token:
        """The token after the next one, not consumed."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def at_word(self, *words: str) -> bool:
        """Whether the next token is one of these upper-case words, in any case."""
        return self.token.kind is TokenKind.WORD and self.token.text.upper() in words

    def at_symbol(self, *symbols: str) -> bool:
        """Whether the next token is one of these symbols."""
        return self.token.kind is TokenKind.SYMBOL and self.token.text in symbols

    def accept_word(self, *words: str) -> str | None:
        """Consume the next token if it is one of these words, and return it in upper case."""
        return self.take().text.upper() if self.at_word(*words) else None

    def accept(self, symbol: str) -> bool:
        """Consume the next token if it is this symbol, and return whether it was."""
        accepted = self.at_symbol(symbol)
        if accepted:
            self.take()
        return accepted

    def expect(self, symbol: str) -> None:
        """Consume this symbol, or raise InvalidRequestError."""
        if not self.accept(symbol):
            raise self.error(f"{symbol!r} was expected")

    def expect_word(self, *words: str) -> str:
        """Consume one of these words, or raise InvalidRequestError."""
        word = self.accept_word(*words)
        if word is None:
            raise self.error(f"{' or '.join(words)} was expected")
        return word

    def expect_end(self) -> None:
        """Check that nothing is left, or raise InvalidRequestError."""
        if self.token.kind is not TokenKind.END:
            raise self.error("nothing more was expected")

    def name(self) -> str:
        """Consume a name, with or without backticks."""
        if self.token.kind not in (TokenKind.WORD, TokenKind.NAME) or not self.token.text:
            raise self.error("a name was expected (in backticks if it is not letters and digits)")
        return self.take().text

    def string(self) -> str:
        """Consume a string; adjacent strings are joined."""
        if self.token.kind is not TokenKind.STRING:
            raise self.error("a string in quotes was expected")
        parts = []
        while self.token.kind is TokenKind.STRING:
            parts.append(self.take().text)
        return "".join(parts)

    def integer(self) -> int:
        """Consume a number below 2^31 without sign, point and exponent."""
        text = self.token.text
        if self.token.kind is not TokenKind.NUMBER or not text.isdigit():
            raise self.error("a whole number was expected")
        if len(text) > 10 or int(text) >= 2**31:
            raise self.error("a number below 2147483648 was expected")
        self.take()
        return int(text)

    def error(self, problem: str) -> InvalidRequestError:
        """An error about the next token, with its position."""
        token = self.token
        shown = clip(self.text[token.start : token.end], 40) or "the end"
        self._placed = True
        quoted = "" if is_long(self.text) else f" {clip(self.text)!r}"
        return InvalidRequestError(
            f"{problem}, but found {shown} at {place_in(self.text, token.start)} "
            f"of the {self._what}{quoted}",
            condition="SYNTAX_ERROR",
        )

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Add to errors that do not name a place that of the last token, if there are several lines."""
        try:
            yield
        except InvalidRequestError as error:
            if not self._placed and is_long(self.text):
                self._placed = True
                last = self._tokens[max(self._at - 1, 0)]
                error.args = (f"{error}, at {place_in(self.text, last.start)}", *error.args[1:])
            raise
