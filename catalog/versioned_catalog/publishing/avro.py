"""Avro files, by fastavro.

PyIceberg's own writers know no format v3 (0.12: "Cannot write manifest for table version: 3") and
need its schemas and partition specs; a pure Python encoder took eight times as long.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError

Row = dict[str, Any]


def _fastavro() -> Any:
    try:
        import fastavro
    except ImportError:
        raise InvalidRequestError(
            "publishing as Iceberg needs fastavro: pip install 'pyspark-versioned[iceberg]'"
        ) from None
    return fastavro


@lru_cache(maxsize=64)
def _parsed(schema: str) -> Any:
    return _fastavro().parse_schema(json.loads(schema))


def encode(schema: Any, rows: Sequence[Row], metadata: Mapping[str, str]) -> bytes:
    """Return an Avro file of rows, with some metadata in its header.

    Raises:
        InvalidRequestError: fastavro is not installed.
    """
    out = io.BytesIO()
    parsed = _parsed(json.dumps(schema))
    _fastavro().writer(out, parsed, rows, codec="deflate", metadata=dict(metadata))
    return out.getvalue()


def decode(data: bytes, what: str) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of an Avro file that ``encode`` wrote, and its header.

    Raises:
        CorruptTableError: it is not one; ``what`` names the file.
    """
    try:
        reader = _fastavro().reader(io.BytesIO(data))
        return list(reader), dict(reader.metadata)
    except (ValueError, EOFError, KeyError, TypeError) as error:
        raise CorruptTableError(
            f"{what} is not the Avro file that was published ({error}); publish with overwrite to "
            "write all metadata again"
        ) from None
