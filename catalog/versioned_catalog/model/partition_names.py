"""Names of the fields of a partitioning, which are properties (FORMAT.md, section 4.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.keys import PARTITION_PREFIX
from versioned_catalog.model.schema import PartitionField, Schema, name_key
from versioned_catalog.model.type_text import has_control_characters, parse_path, quote

_NAMED = re.compile(
    r"(?P<field>.+?)\s+AS\s+(?P<name>`(?:[^`]|``)+`|\S+)\s*", re.IGNORECASE | re.DOTALL
)


def split_name(text: str) -> tuple[str, str | None]:
    """A field of a partitioning, and the name that ``AS`` gives it; None without one.

    >>> split_name("bucket(16, id) AS shard")
    ('bucket(16, id)', 'shard')

    Raises:
        InvalidRequestError: the name is not one name.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        return text, None
    path = parse_path(match["name"])
    if len(path) != 1 or has_control_characters(path[0]):
        raise InvalidRequestError(
            f"{match['name']} can't be the name of a field of a partitioning; write one name after AS"
        )
    return match["field"], path[0]


def field_names(schema: Schema, properties: Mapping[str, str]) -> dict[int, str]:
    """The names of the fields of a partitioning, by index; fields without a name are left out."""
    stored = {
        text: key.removeprefix(PARTITION_PREFIX)
        for key, text in sorted(properties.items())
        if key.startswith(PARTITION_PREFIX)
    }
    texts = map(_text, schema.partitioning)
    return {index: stored[text] for index, text in enumerate(texts) if text in stored}


def shown_fields(fields: Sequence[str], names: Mapping[int, str]) -> list[str]:
    """The fields of a partitioning as users write them, with their names by index."""
    return [
        f"{field} AS {quote(names[index])}" if index in names else field
        for index, field in enumerate(fields)
    ]


def with_names(
    schema: Schema, properties: Mapping[str, str], names: Mapping[PartitionField, str]
) -> dict[str, str]:
    """The properties once fields have other names; those that are still there keep theirs.

    Args:
        names: the names that are given to fields of the schema's partitioning.

    Raises:
        InvalidRequestError: a name is that of a column, or two fields have it.
    """
    indexed = field_names(schema, properties)
    named = {field: indexed[i] for i, field in enumerate(schema.partitioning) if i in indexed}
    named |= names
    seen: set[str] = set()
    for name in named.values():
        if name_key(name) in seen:
            raise InvalidRequestError(f"two fields of the partitioning would be called {name}")
        seen.add(name_key(name))
    for name in names.values():
        if schema.find((name,)) is not None:
            raise InvalidRequestError(
                f"a field of the partitioning can't be called {name}, since a column is; choose "
                "another"
            )
    others = {key: text for key, text in properties.items() if not key.startswith(PARTITION_PREFIX)}
    return others | {PARTITION_PREFIX + name: _text(field) for field, name in named.items()}


def _text(field: PartitionField) -> str:
    return f"{field.source} {field.transform}"
