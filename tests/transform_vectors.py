"""Partition transforms: values of each type, and their results, as value texts (FORMAT.md).

Python and the jar are tested with the same vectors, which PyIceberg computed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.constants import from_scalar_text, to_constant, to_scalar
from versioned_catalog.model.types import DataType
from versioned_catalog.model.value_text import ValueText

Texts = list[ValueText]

PATH = Path(__file__).parent / "vectors" / "transforms.json"
VALUES: dict[str, Texts] = {}
"""Values by their type as DDL, the last of which is null."""
RESULTS: dict[str, dict[str, Texts]] = {}
"""Results for these values, by type and by transform as DDL."""

for ddl, by_transform in json.loads(PATH.read_text()).items():
    VALUES[ddl] = [*by_transform.pop("values"), None]
    RESULTS[ddl] = {transform: [*texts, None] for transform, texts in by_transform.items()}


def array_of(texts: Iterable[ValueText], type_: DataType) -> pa.Array:
    """Value texts as Arrow values."""
    scalars = [to_scalar(to_constant(text), type_) for text in texts]
    return pa.array([scalar.as_py() for scalar in scalars], to_arrow_type(type_))


def texts_of(array: pa.Array | pa.ChunkedArray, type_: DataType) -> Texts:
    """Arrow values as value texts."""
    return [from_scalar_text(scalar, type_) for scalar in array]
