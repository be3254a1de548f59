"""The tokens of SQL: what types, column lists and literals are made of; and quoted strings."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError


class Kind(enum.Enum):
    """What a token is."""

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
        kind: what it is; NAME is a word in backticks.
        text: its meaning: quotes taken off and escapes resolved.
        start, end: where it stands in the source.
    """

    kind: Kind
    text: str
    start: int
    end: int


# A number ends where a word could not go on: 1a is a word to Spark, 1e5 and 10L are numbers.
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
# Left as they are: the pattern of a LIKE gives them their meaning.
_KEPT = "%_"


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, an END at last; white space and comments are left out.

    Raises:
        InvalidRequestError: a quote that is not closed, or an escape that is no character.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidRequestError(
                f"the {text[at]} at character {at + 1} is not closed, in {clip(text)!r}",
                condition="SYNTAX_ERROR",
            )
        at = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(match))
    tokens.append(Token(Kind.END, "", len(text), len(text)))
    return tokens


def _token(match: re.Match[str]) -> Token:
    text = match[0]
    start, end = match.span()
    match match.lastgroup:
        case "raw":
            return Token(Kind.STRING, text[2:-1], start, end)
        case "string":
            body = text[1:-1].replace(text[0] * 2, text[0]) if "\\" not in text else _undouble(text)
            return Token(Kind.STRING, _unescape(body), start, end)
        case "name":
            return Token(Kind.NAME, text[1:-1].replace("``", "`"), start, end)
        case "number":
            return Token(Kind.NUMBER, text, start, end)
        case "word":
            return Token(Kind.WORD, text, start, end)
        case _:
            return Token(Kind.SYMBOL, text, start, end)


def _undouble(text: str) -> str:
    quote = text[0]
    # An escaped quote is no half of a doubled one.
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
                f"the escape {match[0]} is no character", condition="SYNTAX_ERROR"
            )
        return chr(code)

    resolved = _ESCAPE.sub(resolve, text)
    try:
        # Java writes characters beyond U+FFFF as two escapes.
        return resolved.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InvalidRequestError(
            f"the string {clip(text)} holds half a character (an unpaired surrogate)"
        ) from None


_UNSAFE = re.compile(r"['\\\x00-\x1f\x7f-\x9f\u2028\u2029]")


def sql_string(text: str) -> str:
    """A string literal that reads back as ``text``."""

    def escape(match: re.Match[str]) -> str:
        ch = match[0]
        return f"\\{ch}" if ch in "'\\" else f"\\u{ord(ch):04x}"

    return f"'{_UNSAFE.sub(escape, text)}'"


def clip(text: str, length: int = 100) -> str:
    """A text for a message: its beginning, where it is long."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


class Cursor:
    """A place in a text that is being parsed.

    Args:
        text: the whole text.
        what: what it is, for messages: ``type``, ``column list``, …
    """

    def __init__(self, text: str, what: str) -> None:
        if not isinstance(text, str):
            raise InvalidRequestError(f"a {what} is text, not {type(text).__name__}")
        self.text = text
        self._what = what
        self._tokens = tokenize(text)
        self._at = 0

    @property
    def token(self) -> Token:
        """The token that is next."""
        return self._tokens[self._at]

    def take(self) -> Token:
        """The token that is next, which is then behind; END stays."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def peek(self) -> Token:
        """The token after the next one."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def at_word(self, *words: str) -> bool:
        """Whether one of these words, given in upper case, is next."""
        return self.token.kind is Kind.WORD and self.token.text.upper() in words

    def at_symbol(self, *symbols: str) -> bool:
        """Whether one of these symbols is next."""
        return self.token.kind is Kind.SYMBOL and self.token.text in symbols

    def accept_word(self, *words: str) -> str | None:
        """Take the next token if it is one of these words; gives it in upper case."""
        return self.take().text.upper() if self.at_word(*words) else None

    def accept(self, symbol: str) -> bool:
        """Take the next token if it is this symbol."""
        found = self.at_symbol(symbol)
        if found:
            self.take()
        return found

    def expect(self, symbol: str) -> None:
        """Take this symbol, which must be next."""
        if not self.accept(symbol):
            raise self.error(f"{symbol!r} was expected")

    def expect_word(self, *words: str) -> str:
        """Take one of these words, which must be next."""
        found = self.accept_word(*words)
        if found is None:
            raise self.error(f"{' or '.join(words)} was expected")
        return found

    def expect_end(self) -> None:
        """There must be nothing more."""
        if self.token.kind is not Kind.END:
            raise self.error("nothing more was expected")

    def name(self) -> str:
        """Take a name, with or without backticks."""
        if self.token.kind not in (Kind.WORD, Kind.NAME) or not self.token.text:
            raise self.error("a name was expected (in backticks if it is not letters and digits)")
        return self.take().text

    def string(self) -> str:
        """Take a string; strings that stand side by side are one."""
        if self.token.kind is not Kind.STRING:
            raise self.error("a string in quotes was expected")
        parts = []
        while self.token.kind is Kind.STRING:
            parts.append(self.take().text)
        return "".join(parts)

    def integer(self) -> int:
        """Take a number without sign, point and exponent, below 2^31."""
        text = self.token.text
        if self.token.kind is not Kind.NUMBER or not text.isdigit():
            raise self.error("a whole number was expected")
        if len(text) > 10 or int(text) >= 2**31:
            raise self.error("a number below 2147483648 was expected")
        self.take()
        return int(text)

    def error(self, problem: str) -> InvalidRequestError:
        """An error that says where it is."""
        token = self.token
        found = clip(self.text[token.start : token.end], 40) or "the end"
        return InvalidRequestError(
            f"{problem}, but found {found} at character {token.start + 1} "
            f"of the {self._what} {clip(self.text)!r}",
            condition="SYNTAX_ERROR",
        )
