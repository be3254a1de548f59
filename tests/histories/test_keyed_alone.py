"""The model of keyed tables itself: it has no imports from the project, and gives results as by hand."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from histories import keyed_naive, naive
from histories.keyed_naive import SEQUENCE, Keyed, patch, rollback, set_ttl, upsert, whole_rows
from histories.naive import Field, Refused, show

NOW = dt.datetime(2024, 6, 30, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def table(*more: Field) -> Keyed:
    """A table of a key, a value with default 7, and other fields."""
    key, value = Field(1, "k", "int", nullable=False), Field(2, "v", "int", write_default=7)
    model = Keyed((key, value, *more), now=NOW, primary_key=(1,))
    model.commit()
    return model


def timed() -> Keyed:
    """A table of a host and a time."""
    host, ts = Field(1, "host", "string", nullable=False), Field(2, "ts", "date", nullable=False)
    model = Keyed((ts, host), now=NOW, primary_key=(1,), time_index=2)
    model.commit()
    return model


def put(model: Keyed, *rows: dict[str, Any]) -> None:
    for row in rows:
        model.rows = upsert(model, whole_rows(model, list(row), [row]))
    model.commit()


def patched(model: Keyed, *rows: dict[str, Any]) -> None:
    for row in rows:
        model.rows = patch(model, list(row), [row])
    model.commit()


def altered(model: Keyed, *changes: tuple[Any, ...]) -> None:
    model.fields = keyed_naive.alter(model, list(changes))
    model.commit()


def shown(model: Keyed, version: int | None = None) -> list[tuple[Any, ...]]:
    then = model if version is None else model.past[version]
    return sorted(tuple(show(f, row) for f in then.fields) for row in then.rows)


def on(day: int, host: str = "a") -> dict[str, Any]:
    return {"host": host, "ts": NOW.date() - day * DAY}


def test_the_model_imports_nothing_of_the_project() -> None:
    text = Path(__file__).with_name("keyed_naive.py").read_text()
    imported = re.findall(r"^\s*(?:from|import)\s+(\w+)", text, re.M)
    assert set(imported) <= {"__future__", "dataclasses", "datetime", "histories", "typing"}
    assert re.findall(r"^\s*from histories(?:\.(\w+))? import", text, re.M) == ["", "naive"]


def test_the_last_row_of_a_key_wins() -> None:
    model = table()
    put(model, {"k": 1, "v": 1}, {"k": 2, "v": 2}, {"k": 1, "v": None})
    assert sorted(shown(model), key=repr) == [(1, None), (2, 2)]
    model.rows = upsert(model, whole_rows(model, ["k", "v"], [{"k": 3, "v": 1}, {"k": 3, "v": 2}]))
    assert (3, 2) in shown(model)


def test_an_upsert_of_whole_rows_takes_defaults() -> None:
    model = table()
    put(model, {"k": 1, "v": 1}, {"k": 1})
    assert shown(model) == [(1, 7)]


def test_a_patch_keeps_what_it_leaves_out() -> None:
    model = table(Field(3, "w", "int", write_default=8))
    put(model, {"k": 1, "v": 1, "w": 1})
    patched(model, {"k": 1, "w": 2}, {"k": 2, "w": 2}, {"k": 2, "v": 5})
    assert shown(model) == [(1, 1, 2), (2, 5, 2)]


def test_a_patch_after_a_delete_starts_from_defaults() -> None:
    model = table(Field(3, "w", "int"))
    put(model, {"k": 1, "v": 1, "w": 1})
    model.rows = naive.keep(model, [[((1,), "=", 1)]])
    patched(model, {"k": 1, "w": 2})
    assert shown(model) == [(1, 7, 2)]
    altered(model, ("default", 2, 9))  # the rows keep the default of their write
    patched(model, {"k": 1, "w": 3})
    assert shown(model) == [(1, 7, 3)]


def test_a_patch_with_columns_that_are_dropped_and_added() -> None:
    model = table()
    put(model, {"k": 1, "v": 1})
    patched(model, {"k": 1, "v": 2})
    altered(model, ("drop", 2))
    assert shown(model) == [(1,)]
    altered(model, ("add", None, Field(3, "v", "int", False, 999, 999), None))
    assert shown(model) == [(1, 999)]  # the patched value does not return
    altered(model, ("default", 3, 1000))
    patched(model, {"k": 1}, {"k": 2})
    assert shown(model) == [(1, 999), (2, 1000)]
    patched(model, {"k": 1, "v": 5})
    assert shown(model) == [(1, 5), (2, 1000)]


@pytest.mark.parametrize(
    "row, why",
    [
        ({"v": 1}, "the key"),
        ({"k": 1}, "w has no default"),
        ({"k": None, "w": 1}, "null in k"),
        ({"k": 1, "w": None}, "null in w"),
    ],
)
def test_invalid_patches_are_refused(row: dict[str, Any], why: str) -> None:
    model = table(Field(3, "w", "int", nullable=False))
    with pytest.raises(Refused, match=why):
        patch(model, list(row), [row])


def test_keys_are_equal_across_a_widening() -> None:
    model = table()
    put(model, {"k": 5, "v": 1})
    altered(model, ("type", 1, "decimal(12,2)"))
    put(model, {"k": Decimal("5.00"), "v": 2})
    assert shown(model) == [(Decimal("5.00"), 2)]


@pytest.mark.parametrize("change", [("drop", 1), ("null", 1), ("type", 1, "double")])
def test_invalid_changes_of_a_key_are_refused(change: tuple[Any, ...]) -> None:
    with pytest.raises(Refused, match="row key"):
        keyed_naive.alter(table(), [change])


def test_rows_keep_their_keys() -> None:
    model = table()
    put(model, {"k": 1, "v": 1})
    with pytest.raises(Refused, match="keep their keys"):
        keyed_naive.update(model, [((1,), 2)], None)
    assert keyed_naive.update(model, [((2,), 2)], None) == [{1: 1, 2: 2}]


def test_the_row_key_ends_with_the_time_index() -> None:
    assert timed().row_key == (1, 2)
    assert Keyed((), primary_key=(2, 1), time_index=2).row_key == (2, 1)
    assert Keyed((), time_index=2).row_key == (2,)


def test_without_a_primary_key_nothing_is_merged() -> None:
    model = timed()
    model.primary_key = ()
    put(model, on(1), on(1))
    assert len(model.rows) == 2
    with pytest.raises(Refused):
        patch(model, ["host", "ts"], [on(1)])
    model.rows = keyed_naive.update(model, [((2,), NOW.date())], None)
    assert shown(model) == [(NOW.date(), "a")] * 2


def test_rows_record_the_version_that_wrote_them() -> None:
    model = table()
    put(model, {"k": 1, "v": 1}, {"k": 2, "v": 1}, {"k": 3, "v": 1})  # 1
    patched(model, {"k": 1})  # 2
    model.rows = keyed_naive.update(model, [((2,), 1)], [[((1,), "=", 2)]])
    model.commit()  # 3
    altered(model, ("default", 2, 5))
    assert [row[SEQUENCE] for row in model.rows] == [2, 3, 1]
    rollback(model, 2)
    model.commit()
    assert [row[SEQUENCE] for row in model.rows] == [2, 1, 1]


def test_rows_expire_if_they_have_a_time() -> None:
    with pytest.raises(Refused, match="time index"):
        set_ttl(table(), DAY)


def test_expired_rows_are_hidden() -> None:
    model = timed()
    put(model, on(30), on(5), on(0))  # 1
    set_ttl(model, 10 * DAY)
    model.commit()  # 2
    assert [len(shown(model, version)) for version in (1, 2)] == [3, 2]
    put(model, on(30, "late"))  # 3
    set_ttl(model, None)
    model.commit()  # 4
    put(model, on(30, "later"), on(6))  # 5
    assert [len(shown(model, version)) for version in (3, 4, 5)] == [2, 2, 3]
    set_ttl(model, DAY)
    model.commit()  # 6
    set_ttl(model, 20 * DAY)
    model.commit()  # 7
    assert [len(shown(model, version)) for version in (6, 7)] == [1, 1]


@pytest.mark.parametrize("version, ttl, left", [(1, None, 3), (2, 10, 2), (3, 1, 1), (4, None, 1)])
def test_a_rollback_restores_rows_hidden_since(version: int, ttl: int | None, left: int) -> None:
    model = timed()
    put(model, on(30), on(5), on(0))
    for age in (10 * DAY, DAY, None):
        set_ttl(model, age)
        model.commit()
    rollback(model, version)
    model.commit()
    assert len(model.rows) == left
    assert model.ttl == (None if ttl is None else ttl * DAY)
