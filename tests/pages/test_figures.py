"""Numbers as people read them."""

from __future__ import annotations

from versioned_interop.pages.drawing import Markup, clip, count_text, plural, size_text, tag


def test_sizes_have_three_digits() -> None:
    shown = {0: "0 B", 999: "999 B", 1000: "1.00 kB", 9_994: "9.99 kB", 9_995: "10.0 kB"}
    shown |= {99_949: "99.9 kB", 99_950: "100 kB", 999_499: "999 kB", 999_500: "1.00 MB"}
    shown |= {12_345_678: "12.3 MB", 5 * 10**18: "5.00 EB", 10**22: "10000 EB"}
    assert {size: size_text(size) for size in shown} == shown


def test_counts_have_separators() -> None:
    assert count_text(1234567) == "1,234,567"
    assert [plural(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]


def test_long_text_is_clipped() -> None:
    assert clip("abc", 3) == "abc"
    assert clip("abcdefghij", 7) == "abcd…ij"


def test_tags_escape_all_but_markup() -> None:
    assert (
        tag("b", "<&>", Markup("<i>"), title='"<') == '<b title="&quot;&lt;">&lt;&amp;&gt;<i></b>'
    )
    assert (
        tag("i", "\u200f\n", class_="x", data_y=1.5, z=None)
        == '<i class="x" data-y="1.5">\\u200f\\n</i>'
    )
