"""History shows who committed what, and why."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, committed_by

ONE = pa.table({"a": pa.array([1], pa.int32())})


def said(path: Path) -> list[tuple[str | None, ...]]:
    rows = Catalog.load_path(path).inspect.history()
    return list(
        zip(*(rows[name].to_pylist() for name in ("user", "application", "message")), strict=True)
    )


def test_history_shows_who_commits_and_why(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT")
    with committed_by(user="ann", application="nightly"):
        table.append(ONE)
        with committed_by(message="backfill of May"):
            table.alter().add_column("b", "INT").commit()
            table.delete([("a", "=", 1)])
        with committed_by(user="bob", application=""):
            table.rollback(1)
    table.append(ONE)
    nobody, ann = (None, None, None), ("ann", "nightly")
    assert said(tmp_path / "t") == [
        nobody,
        (*ann, None),
        (*ann, "backfill of May"),
        (*ann, "backfill of May"),
        ("bob", "nightly", None),
        nobody,
    ]


def test_a_block_that_fails_ends(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT")
    with pytest.raises(ZeroDivisionError), committed_by(user="ann"):
        raise ZeroDivisionError
    table.append(ONE)
    assert said(tmp_path / "t")[1] == (None, None, None)


def test_only_texts_are_taken() -> None:
    with (
        pytest.raises(InvalidRequestError, match="user is 5; it must be a text"),
        committed_by(user=5),
    ):  # type: ignore[arg-type]
        pass


def test_the_log_may_say_anything(tmp_path: Path) -> None:
    """Other software may write another form in ``details``."""
    from versioned_catalog.commit.authorship import facts_of

    assert facts_of({"by": {"user": "ann", "message": 5}})["user"] == "ann"
    for other in ({}, {"by": "ann"}, {"by": ["ann"]}, {"by": {"message": 5}}):
        assert facts_of(other) == {"user": None, "application": None, "message": None}
