"""The registry of what lies beside the core: imports, conversion, publishing, engines and pages.

The core names these functions here and imports none of their modules: a process that does not use them
does not load them, and the core stands without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_MODULES: Mapping[str, str] = {
    "Dialect": "versioned_catalog.importing.disagreements",
    "parse_aliases": "versioned_catalog.importing.option_text",
    "import_into": "versioned_catalog.importing.import_files",
    "import_new": "versioned_catalog.importing.import_files",
    "Conversion": "versioned_catalog.conversion.convert",
    "Request": "versioned_catalog.conversion.convert",
    "first_schema": "versioned_catalog.conversion.convert",
    "open_source": "versioned_catalog.conversion.convert",
    "origin_of": "versioned_catalog.conversion.origin",
    "sync": "versioned_catalog.conversion.convert",
    "sync_from": "versioned_catalog.conversion.convert",
    "keep_readable": "versioned_catalog.publishing.withdrawal",
    "publish": "versioned_catalog.publishing.publish",
    "publish_if_asked": "versioned_catalog.publishing.after_commit",
    "unpublish": "versioned_catalog.publishing.withdrawal",
    "to_duckdb": "versioned_catalog.export.engines",
    "to_pandas": "versioned_catalog.export.engines",
    "to_polars": "versioned_catalog.export.engines",
    "columns_html": "versioned_catalog.drawing.notebooks",
    "scan_html": "versioned_catalog.scan.notebook",
    "table_html": "versioned_catalog.page.notebook",
    "table_page": "versioned_catalog.page.document",
}
"""The module of each function or class that the core calls."""


def interop(name: str) -> Any:
    """Return a function or class of a package beside the core, which is loaded when first asked for."""
    return getattr(import_module(_MODULES[name]), name)
