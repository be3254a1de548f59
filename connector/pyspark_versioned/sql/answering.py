"""From the name of a question to who answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark_versioned.sql.failures import failure
from versioned_catalog import InvalidRequestError, VersionedError

Request = dict[str, Any]
Answer = dict[str, Any]
Question = Callable[[Request], Answer]


def questions() -> dict[str, Question]:
    """All questions by name."""
    from pyspark_versioned.sql import (
        arranging,
        catalog_questions,
        metadata_questions,
        procedures,
        scan_questions,
        staging,
        view_questions,
        write_questions,
    )

    return {
        "reach": lambda request: {},
        **arranging.QUESTIONS,
        **catalog_questions.QUESTIONS,
        **metadata_questions.QUESTIONS,
        **procedures.QUESTIONS,
        **scan_questions.QUESTIONS,
        **staging.QUESTIONS,
        **view_questions.QUESTIONS,
        **write_questions.QUESTIONS,
    }


_QUESTIONS = questions()


def answer(request: Request) -> Answer:
    """Answer one question.

    Args:
        request: ``question`` is its name; the rest is the question's own.

    Returns:
        What was asked for, or ``{"error": {"condition": ..., "sqlstate": ..., "message": ...}}`` for
        an error told on purpose.
    """
    name = request["question"]
    try:
        if name not in _QUESTIONS:
            raise InvalidRequestError(
                f"the jar asks {name!r}, which this pyspark_versioned does not know; both must be "
                "of one release: take the jar that pyspark_versioned.jar_path() names"
            )
        return _QUESTIONS[name](request)
    except VersionedError as error:
        return failure(error, request)
