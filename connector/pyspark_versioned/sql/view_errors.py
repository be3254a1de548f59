"""Errors and warnings about views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark_versioned.sql.protocol import messages
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.type_text import quote, render_path


def full_name(catalog: messages.CatalogRef, name: Sequence[str]) -> str:
    """The name of a table or view in SQL, catalog first."""
    return render_path((catalog.name, *name))


def view_problems(catalog: Catalog, ref: messages.CatalogRef, name: Sequence[str]) -> list[str]:
    """The problems of views that read the table ``name``."""
    return [problem.text for problem in catalog.view_problems(tuple(name), partial(full_name, ref))]


def refuse_view(request: messages.Load | messages.LoadToWrite) -> None:
    """Refuse to load a view as a table.

    Raises:
        InvalidRequestError: always.
    """
    catalog = request.catalog.name
    view = full_name(request.catalog, request.name)
    if isinstance(request, messages.LoadToWrite):
        raise InvalidRequestError(
            f"{view} is a view and holds no rows; write to the tables that it reads, which "
            f"CALL {quote(catalog)}.system.views() lists"
        )
    if request.version is not None or request.timestamp is not None:
        raise InvalidRequestError(
            f"{view} is a view, which has no versions; write VERSION AS OF or TIMESTAMP AS OF after "
            "the tables in a query of your own"
        )
    raise InvalidRequestError(
        f"{view} is a view; to read it, use Spark 4.2 or newer and set "
        f"spark.sql.catalog.{catalog} to versioned.spark.VersionedRelationCatalog"
    )
