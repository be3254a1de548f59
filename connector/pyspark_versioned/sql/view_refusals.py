"""Errors where a view stands in the place of a table."""

from __future__ import annotations

from typing import Any

from versioned_catalog import InvalidRequestError
from versioned_catalog.types.paths import quote, render_path

Json = dict[str, Any]


def refuse_view(request: Json) -> None:
    """Say what can't be done with a view.

    Of the request: ``version`` and ``timestamp``, of time travel; ``writes``, of what changes rows.

    Raises:
        InvalidRequestError: always.
    """
    catalog = request["catalog"]["name"]
    shown = render_path((catalog, *request["name"]))
    if "version" in request or "timestamp" in request:
        raise InvalidRequestError(
            f"{shown} is a view, which has no versions; write VERSION AS OF or TIMESTAMP AS OF after "
            "the tables in a query of your own"
        )
    if request.get("writes"):
        raise InvalidRequestError(
            f"{shown} is a view and holds no rows; write to the tables that it reads, which "
            f"CALL {quote(catalog)}.system.views() shows"
        )
    raise InvalidRequestError(
        f"{shown} is a view; to read it, use Spark 4.2 or newer and set "
        f"spark.sql.catalog.{catalog} to versioned.spark.VersionedRelationCatalog"
    )
