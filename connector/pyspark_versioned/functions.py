"""Functions for columns with logical types: they make and read values of the base types.

All of them take and return columns, and are built of Spark's own functions, so no row passes through
Python. What they make is what the logical type of a column accepts (docs/types.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from versioned_catalog import InvalidRequestError
from versioned_catalog.model.logical import Enumeration, parse_logical

ColumnOrName = Column | str

_MAPPED = "00000000000000000000ffff"
"""The first 12 bytes of an address of IPv4 that is mapped to IPv6, in hexadecimal."""
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}[.]{_BYTE}[.]{_BYTE}[.]{_BYTE}"
_FLOAT16_OVERFLOW = 65_520.0
_MOST_DIMENSIONS = 32


def _column(column: ColumnOrName) -> Column:
    return F.col(column) if isinstance(column, str) else column


def _required(value: Column, legal: Column, shown: Column, what: str) -> Column:
    """The value where it is legal, null where ``shown`` is, and else an error of Spark."""
    message = F.concat(F.lit(f"not {what}: "), shown.cast("string"))
    return F.when(legal, value).when(shown.isNotNull(), F.raise_error(message))


def to_uuid(text: ColumnOrName) -> Column:
    """The text of a UUID, from 32 hexadecimal digits in any case, with or without dashes and braces."""
    given = _column(text)
    digits = F.lower(F.translate(given, "-{}", ""))
    legal = (F.length(digits) == 32) & digits.rlike("^[0-9a-f]{32}$")
    return _required(_grouped(digits), legal, given, "a UUID")


def uuid_text(value: ColumnOrName) -> Column:
    """The text of a UUID of 16 bytes."""
    return _grouped(F.lower(F.hex(_column(value))))


def uuid_bytes(text: ColumnOrName) -> Column:
    """The 16 bytes of the text of a UUID, in any form that ``to_uuid`` takes."""
    return F.unhex(F.translate(to_uuid(text), "-", ""))


def _grouped(digits: Column) -> Column:
    starts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
    first, *rest = (F.substring(digits, *at) for at in starts)
    return F.concat(first, *(part for group in rest for part in (F.lit("-"), group)))


def enum_label(ordinal: ColumnOrName, logical: str) -> Column:
    """The label of an ordinal; null if no label has it.

    Args:
        ordinal: the column.
        logical: its logical type, such as ``table.logical_types["level"]``: ``ENUM('low', 'high')``.

    Raises:
        InvalidRequestError: it is no ENUM.
    """
    return F.get(_labels(logical), _column(ordinal).cast("int") - 1)


def enum_ordinal(label: ColumnOrName, logical: str) -> Column:
    """The ordinal of a label, as INT; a text that is no label is an error.

    Args:
        label: the column.
        logical: the ENUM, as for ``enum_label``.

    Raises:
        InvalidRequestError: it is no ENUM.
    """
    given = _column(label)
    place = F.array_position(_labels(logical), given)
    return _required(place.cast("int"), place > 0, given, f"a label of {logical}")


def _labels(logical: str) -> Column:
    parsed = parse_logical(logical)
    if not isinstance(parsed, Enumeration):
        raise InvalidRequestError(f"an ENUM('a', 'b') is needed, got {logical}")
    return F.array(*(F.lit(label).cast("string") for label in parsed.labels))


def to_ip(text: ColumnOrName) -> Column:
    """The 16 bytes of an address of IPv4 or IPv6."""
    given = _column(text)
    is_v4 = F.concat(given, F.lit("x")).rlike(f"^{_IPV4}x$")
    v4 = F.concat(F.lit(_MAPPED), _ipv4_digits(given))
    groups = _with(_without_ipv4(F.lower(given)), _ipv6_groups)
    digits = _with(
        groups, lambda parts: F.when(_are_eight(parts), F.array_join(_padded(parts), ""))
    )
    return _with(
        F.when(is_v4, v4).otherwise(digits),
        lambda found: _required(F.unhex(found), found.isNotNull(), given, "an IP address"),
    )


def _with(value: Column, use: Callable[[Column], Column]) -> Column:
    """An expression that uses a value in several places, where it is computed once."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def _ipv4_digits(text: Column) -> Column:
    parts = F.split(text, "[.]")
    return F.array_join(
        F.transform(parts, lambda part: F.lpad(F.lower(F.hex(part.try_cast("int"))), 2, "0")), ""
    )


def _without_ipv4(text: Column) -> Column:
    """An address of IPv6 whose end, if that is one of IPv4, is two groups in hexadecimal instead."""
    end = F.regexp_extract(text, f"^[0-9a-f:]*:({_IPV4})$", 1)
    start = text.substr(F.lit(1), F.length(text) - F.length(end))
    digits = _ipv4_digits(end)
    groups = F.concat_ws(":", F.substring(digits, 1, 4), F.substring(digits, 5, 4))
    return F.when(end != "", F.concat(start, groups)).otherwise(text)


def _ipv6_groups(text: Column) -> Column:
    """The eight groups of an address; another number of them if it is none."""

    def groups(halves: Column) -> Column:
        head, end = (_groups(F.get(halves, F.lit(at))) for at in (0, 1))
        missing = F.lit(8) - F.size(head) - F.size(end)
        zeros = F.array_repeat(F.lit("0"), F.greatest(missing, F.lit(0)))
        whole = F.when(F.size(halves) == 1, head)
        return whole.when((F.size(halves) == 2) & (missing > 0), F.concat(head, zeros, end))

    return _with(F.split(text, "::", -1), groups)


def _groups(half: Column) -> Column:
    empty = F.array().cast("array<string>")
    return F.when(F.coalesce(half, F.lit("")) == "", empty).otherwise(F.split(half, ":", -1))


def _are_eight(groups: Column) -> Column:
    are_hexadecimal = F.forall(
        groups, lambda group: (F.length(group) <= 4) & group.rlike("^[0-9a-f]+$")
    )
    return (F.size(groups) == 8) & are_hexadecimal


def _padded(groups: Column) -> Column:
    return F.transform(groups, lambda group: F.lpad(group, 4, "0"))


def ip_text(value: ColumnOrName) -> Column:
    """The text of an address of 16 bytes: as RFC 5952 says, and of IPv4 if it is a mapped one."""

    def text(digits: Column) -> Column:
        v4 = [F.conv(F.substring(digits, at, 2), 16, 10) for at in (25, 27, 29, 31)]
        groups = [F.ltrim(F.substring(digits, at, 4), F.lit("0")) for at in range(1, 33, 4)]
        shown = [F.when(group == "", "0").otherwise(group) for group in groups]
        v6 = F.concat(F.lit(":"), F.concat_ws(":", *shown), F.lit(":"))
        is_v4 = F.startswith(digits, F.lit(_MAPPED))
        shown_text = F.when(is_v4, F.concat_ws(".", *v4)).otherwise(_with(v6, _compressed))
        return F.when(digits.isNotNull(), shown_text)

    return _with(F.lower(F.hex(_column(value))), text)


def _compressed(text: Column) -> Column:
    """Groups between colons, without the first of the longest runs of zeros, if it has two or more."""
    runs = [f":{'0:' * size}" for size in range(8, 1, -1)]
    shorter = [
        F.when(
            F.contains(text, F.lit(run)),
            F.concat(F.substring_index(text, run, 1), F.lit("::"), _after_first(text, run)),
        )
        for run in runs
    ]
    plain = F.coalesce(*shorter, text)
    return F.regexp_replace(F.regexp_replace(plain, "^:(?!:)", ""), "(?<!:):$", "")


def _after_first(text: Column, found: str) -> Column:
    return text.substr(F.instr(text, found) + len(found), F.length(text))


def bit_is_set(value: ColumnOrName, bit: int) -> Column:
    """Whether a bit of a BITMASK is 1. ``bit`` counts from 0."""
    byte = F.conv(F.hex(F.substring(_column(value), bit // 8 + 1, 1)), 16, 10).cast("int")
    return byte.bitwiseAND(F.lit(1 << bit % 8)) != 0


def to_bitmask(positions: ColumnOrName, bits: int) -> Column:
    """A BITMASK in which the bits at some positions, an array of integers, are 1."""
    given = _column(positions)
    size = (bits + 7) // 8
    masks = [
        reduce(
            lambda left, right: left + right,
            [
                F.when(F.array_contains(given, F.lit(8 * at + bit)), 1 << bit).otherwise(0)
                for bit in range(8)
            ],
        )
        for at in range(size)
    ]
    made = F.unhex(F.concat(*(F.lpad(F.hex(mask), 2, "0") for mask in masks)))
    legal = F.forall(given, lambda position: (position >= 0) & (position < bits))
    return _required(made, legal, given, f"positions of {bits} bits")


def to_float16(value: ColumnOrName) -> Column:
    """A FLOAT16: the nearest one, ties to even; an infinity if there is none as large."""
    exact = _column(value).cast("double")
    size = F.abs(exact)
    scale = reduce(
        lambda chosen, power: F.when(size >= 2.0**power, 2.0 ** (power - 10)).otherwise(chosen),
        range(-13, 16),
        F.lit(2.0**-24),
    )
    rounded = F.rint(exact / scale) * scale
    infinite = F.signum(exact) * F.lit(float("inf"))
    finite = F.when(size >= _FLOAT16_OVERFLOW, infinite).otherwise(rounded)
    return F.when(F.isnan(exact), exact).otherwise(finite).cast("float")


def to_interval(months: ColumnOrName, days: ColumnOrName, microseconds: ColumnOrName) -> Column:
    """An INTERVAL of months, days and microseconds; null if one of them is."""
    parts = [_column(part) for part in (months, days, microseconds)]
    named = F.struct(
        parts[0].cast("int").alias("months"),
        parts[1].cast("int").alias("days"),
        parts[2].cast("bigint").alias("microseconds"),
    )
    return F.when(reduce(lambda left, right: left & right, [p.isNotNull() for p in parts]), named)


def add_interval(time: ColumnOrName, interval: ColumnOrName) -> Column:
    """A date or timestamp and an INTERVAL: first its months, then its days, then its microseconds."""
    part = _column(interval)
    seconds = (part["microseconds"].cast("decimal(20,0)") / F.lit(1_000_000)).cast("decimal(18,6)")
    calendar = F.make_interval(F.lit(0), part["months"], F.lit(0), part["days"])
    zero = F.lit(0)
    exact = F.make_interval(zero, zero, zero, zero, zero, zero, seconds)
    return _column(time) + calendar + exact


def to_numeric(text: ColumnOrName) -> Column:
    """A NUMERIC from digits, perhaps with a sign and a point, of any length."""
    given = _column(text).cast("string")
    legal = F.concat(given, F.lit("x")).rlike("^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)x$")
    digits = F.regexp_replace(given, "^[+-]", "")
    whole = F.regexp_replace(F.substring_index(digits, ".", 1), "^0+", "")
    fraction = F.when(
        F.contains(digits, F.lit(".")),
        F.regexp_replace(F.substring_index(digits, ".", -1), "0+$", ""),
    ).otherwise("")
    size = F.concat(
        F.when(whole == "", "0").otherwise(whole),
        F.when(fraction == "", "").otherwise(F.concat(F.lit("."), fraction)),
    )
    is_negative = F.startswith(given, F.lit("-")) & (size != "0")
    exact = F.when(is_negative, F.concat(F.lit("-"), size)).otherwise(size)
    made = F.struct(exact.cast("double").alias("approximate"), exact.alias("exact"))
    return _required(made, legal, given, "a number")


def numeric_key(value: ColumnOrName) -> Column:
    """A struct by which a NUMERIC is compared and sorted exactly, as by ``ORDER BY`` and ``MAX``."""
    number = _column(value)
    exact = number["exact"]
    is_negative = F.startswith(exact, F.lit("-"))
    whole = F.length(F.substring_index(exact, ".", 1))
    # In complements of digits, the longer number is the smaller one: ~ is above all of them.
    complement = F.concat(F.translate(exact, "0123456789", "9876543210"), F.lit("~"))
    return F.when(
        number.isNotNull(),
        F.struct(
            number["approximate"].alias("approximate"),
            F.when(is_negative, -whole).otherwise(whole).alias("size"),
            F.when(is_negative, complement).otherwise(exact).alias("digits"),
        ),
    )


_COMPARISONS: dict[str, tuple[Callable[[Column, Column], Column], ...]] = {
    "<": (Column.__le__, Column.__lt__),
    "<=": (Column.__le__, Column.__le__),
    "=": (Column.__eq__, Column.__eq__),
    ">=": (Column.__ge__, Column.__ge__),
    ">": (Column.__ge__, Column.__gt__),
}


def compare_numeric(value: ColumnOrName, operator: str, number: str) -> Column:
    """Whether a NUMERIC is ``<``, ``<=``, ``=``, ``>=`` or ``>`` than a number, exactly.

    The comparison of the approximate number skips segments; that of the exact one decides.

    Args:
        value: the column.
        operator: the comparison.
        number: digits, perhaps with a sign and a point.

    Raises:
        InvalidRequestError: there is no such operator.
    """
    if operator not in _COMPARISONS:
        raise InvalidRequestError(
            f"operator must be one of {', '.join(_COMPARISONS)}, got {operator!r}"
        )
    roughly, exactly = _COMPARISONS[operator]
    column, other = _column(value), to_numeric(F.lit(number))
    return roughly(column["approximate"], F.lit(float(number))) & exactly(
        numeric_key(column), numeric_key(other)
    )


def to_range(
    lower: ColumnOrName, upper: ColumnOrName, bounds: str = "[)", *, discrete: bool = False
) -> Column:
    """A RANGE between two bounds, of which a null one is missing; empty if nothing lies between them.

    Args:
        lower, upper: the bounds, of one type.
        bounds: ``[`` or ``(``, and ``]`` or ``)``: whether the bounds are inclusive.
        discrete: whether the bounds are integers or dates: then the lower one becomes inclusive, and
            the upper one exclusive, as the logical type needs.

    Raises:
        InvalidRequestError: ``bounds`` is something else.
    """
    if len(bounds) != 2 or bounds[0] not in "[(" or bounds[1] not in "])":
        raise InvalidRequestError(f"bounds must be [), [], () or (], got {bounds!r}")
    low, high = _column(lower), _column(upper)
    with_low, with_high = bounds[0] == "[", bounds[1] == "]"
    if discrete:
        low, high = low if with_low else low + 1, high + 1 if with_high else high
        with_low, with_high = True, False
    is_point = low == high if with_low and with_high else F.lit(False)
    empty = F.coalesce(~((low < high) | is_point), F.lit(False))
    return F.struct(
        F.when(~empty, low).alias("lower"),
        F.when(~empty, high).alias("upper"),
        (F.lit(with_low) & ~empty & low.isNotNull()).alias("lower_inclusive"),
        (F.lit(with_high) & ~empty & high.isNotNull()).alias("upper_inclusive"),
        empty.alias("empty"),
    )


def range_contains(range: ColumnOrName, value: ColumnOrName) -> Column:
    """Whether a value lies in a RANGE; null if either is."""
    part, one = _column(range), _column(value)
    above = part["lower"].isNull() | (part["lower"] < one)
    below = part["upper"].isNull() | (one < part["upper"])
    at_lower = part["lower_inclusive"] & (part["lower"] == one)
    at_upper = part["upper_inclusive"] & (part["upper"] == one)
    inside = (above | at_lower) & (below | at_upper)
    return F.when(
        part.isNotNull() & one.isNotNull(), ~part["empty"] & F.coalesce(inside, F.lit(False))
    )


def to_ndarray(
    elements: ColumnOrName, lengths: list[int], lower_bounds: list[int] | None = None
) -> Column:
    """An NDARRAY of the elements of an array, the last dimension varying fastest.

    Args:
        elements: an array of as many elements as the product of the lengths.
        lengths: the length of each dimension.
        lower_bounds: the index of the first element in each dimension; 1 if omitted, as in PostgreSQL.

    Raises:
        InvalidRequestError: there are not as many lower bounds as lengths, or too many of them.
    """
    bounds = [1] * len(lengths) if lower_bounds is None else lower_bounds
    if len(bounds) != len(lengths) or not 1 <= len(lengths) <= _MOST_DIMENSIONS or min(lengths) < 1:
        raise InvalidRequestError(
            f"an array has 1 to {_MOST_DIMENSIONS} dimensions, each with a lower bound and a length of "
            f"1 or more, got {lengths} and {bounds}"
        )
    given = _column(elements)
    count = reduce(lambda left, right: left * right, lengths)
    named = F.struct(
        F.array(*map(F.lit, bounds)).alias("lower_bounds"),
        F.array(*map(F.lit, lengths)).alias("lengths"),
        given.alias("elements"),
    )
    return _required(named, F.size(given) == count, given, f"{count} elements")


def ndarray_element(value: ColumnOrName, *indices: int) -> Column:
    """The element of an NDARRAY at an index in each dimension; null outside of its bounds.

    Args:
        value: the column.
        indices: as many as the array has dimensions; for arrays of other dimensions, null is returned.
    """
    part = _column(value)
    place, inside = F.lit(0).cast("bigint"), F.size(part["lengths"]) == len(indices)
    for at, index in enumerate(indices):
        length = F.get(part["lengths"], F.lit(at))
        offset = F.lit(index).cast("bigint") - F.get(part["lower_bounds"], F.lit(at))
        place = place * length + offset
        inside = inside & (offset >= 0) & (offset < length)
    return F.when(inside, F.get(part["elements"], place.cast("int")))
