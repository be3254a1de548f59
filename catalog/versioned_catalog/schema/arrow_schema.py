"""Lossless conversion between a table's schema and an Arrow schema.

The Arrow schema carries the whole schema, with IDs, physical names, defaults and comments, in its
metadata, as GreptimeDB's does.
"""

from __future__ import annotations

import json

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.wire import schema_from_json, schema_to_json
from versioned_catalog.types.arrow import column_from_field, to_arrow_schema

_KEY = b"versioned.schema"


def schema_to_arrow(schema: Schema) -> pa.Schema:
    """The Arrow schema of a table, with the whole schema in its metadata."""
    text = json.dumps(schema_to_json(schema), separators=(",", ":"))
    return to_arrow_schema(schema.columns).with_metadata({_KEY: text.encode()})


def schema_from_arrow(arrow: pa.Schema) -> Schema:
    """The schema of an Arrow schema: the one in its metadata, or a new one without IDs.

    Raises:
        InvalidRequestError: a column has a type that can't be stored.
    """
    kept = (arrow.metadata or {}).get(_KEY)
    if kept is not None:
        try:
            schema = schema_from_json(json.loads(kept))
        except (ValueError, RecursionError, VersionedError) as error:
            raise InvalidRequestError(
                f"the Arrow schema's metadata {_KEY.decode()} is not a table's schema: {error}; "
                "remove it with remove_metadata()"
            ) from None
        if to_arrow_schema(schema.columns).equals(arrow.remove_metadata()):
            return schema
    return Schema(tuple(column_from_field(field) for field in arrow))
