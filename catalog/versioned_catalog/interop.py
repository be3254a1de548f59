"""Registry of the optional packages: imports, conversion, publishing, export, engines and pages.

The core looks their functions up here by name; their modules are imported on first use only.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from versioned_catalog.errors import InvalidRequestError

_MODULES: Mapping[str, str] = {
    "Dialect": "versioned_interop.imports.disagreements",
    "parse_aliases": "versioned_interop.imports.options",
    "import_into": "versioned_interop.imports.import_files",
    "kept_options": "versioned_interop.imports.kept_options",
    "import_new": "versioned_interop.imports.import_files",
    "Conversion": "versioned_interop.convert.convert",
    "Request": "versioned_interop.convert.convert",
    "first_schema": "versioned_interop.convert.evolving",
    "open_source": "versioned_interop.convert.convert",
    "origin_of": "versioned_interop.convert.origin",
    "sync": "versioned_interop.convert.convert",
    "follow": "versioned_interop.convert.sync",
    "export": "versioned_interop.export.export",
    "check_catalog": "versioned_interop.publish.catalogs",
    "keep_readable": "versioned_interop.publish.following",
    "publish": "versioned_interop.publish.publish",
    "publish_if_asked": "versioned_interop.publish.following",
    "check_entry": "versioned_interop.publish.registration",
    "withdraw": "versioned_interop.publish.following",
    "unpublish": "versioned_interop.publish.following",
    "to_duckdb": "versioned_interop.engines.frames",
    "to_pandas": "versioned_interop.engines.frames",
    "to_polars": "versioned_interop.engines.frames",
    "columns_html": "versioned_interop.pages.notebooks",
    "scan_html": "versioned_interop.pages.notebooks",
    "table_html": "versioned_interop.pages.notebooks",
    "table_page": "versioned_interop.pages.page",
    "warehouse_page": "versioned_interop.pages.warehouse_page",
    "write_pages": "versioned_interop.pages.warehouse_page",
}
"""The module of each function or class that the core calls."""


def interop(name: str) -> Any:
    """Return a function or class of an optional package; its module is imported on first use."""
    return getattr(import_module(_MODULES[name]), name)


def optional_import(module: str, purpose: str, install: str) -> Any:
    """Import a module of an optional library.

    Args:
        purpose: what needs it.
        install: what to pass to ``pip install``.

    Raises:
        InvalidRequestError: it can't be imported; the message says what to install.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        problem = "is not installed" if error.name == library else f"can't be imported ({error})"
        raise InvalidRequestError(
            f"{purpose} needs {library}, which {problem}: pip install {install}"
        ) from None
