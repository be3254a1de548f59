"""The table property ``publish``, and the schema changes that it rules out."""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.iceberg.schemas import changes_unsayable, unsayable
from versioned_catalog.schema.schema import Schema

PUBLISH = "publish"
ICEBERG = "iceberg"


def publishes(properties: Mapping[str, str]) -> bool:
    """Whether each commit of a table is published.

    Raises:
        InvalidRequestError: the property has another value than ``iceberg``.
    """
    text = properties.get(PUBLISH)
    if text not in (None, ICEBERG):
        raise InvalidRequestError(
            f"the property {PUBLISH} must be {ICEBERG!r}, got {text!r}", condition="INVALID_OPTION"
        )
    return text is not None


def check_publishable(properties: Mapping[str, str], before: Schema, after: Schema) -> None:
    """Refuse a schema that a published table cannot have.

    Raises:
        InvalidRequestError: naming the column, and the way out.
    """
    if not publishes(properties):
        return
    for sentence in unsayable(after):
        raise InvalidRequestError(
            f"{sentence}, or leave out the property {PUBLISH} = '{ICEBERG}'",
            condition="NOT_SUPPORTED",
        )
    for sentence in changes_unsayable(before, after):
        raise InvalidRequestError(
            f"{sentence} (the property {PUBLISH} = '{ICEBERG}'). Add another column instead; or unset "
            "the property, make the change, compact with the strategy full, and set it again",
            condition="NOT_SUPPORTED",
        )
