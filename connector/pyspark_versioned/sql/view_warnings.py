"""What a change of a table does to the views that read it."""

from __future__ import annotations

from functools import partial
from typing import Any

from versioned_catalog import Catalog
from versioned_catalog.types.paths import render_path
from versioned_catalog.warehouse.state import Name

Json = dict[str, Any]


def shown_name(request: Json, name: Name) -> str:
    """The name of a table or view as SQL writes it, with the catalog's."""
    return render_path((request["catalog"]["name"], *name))


def view_problems(catalog: Catalog, request: Json) -> list[str]:
    """What views can't read of the table ``name``."""
    shown = partial(shown_name, request)
    return [problem.text for problem in catalog.view_problems(tuple(request["name"]), shown)]
