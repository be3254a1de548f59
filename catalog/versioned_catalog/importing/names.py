"""Names of columns in files, and the columns that they stand for.

- A name in ``exclude`` leaves the column out, with all inside it.
- An alias, by the dotted path in the file, gives the column's name. It is found exactly first, then
  regardless of case.
- Otherwise a column has the name that it has in the file. Two files that spell it differently in case
  mean the same column, which is spelled as in the provided schema or table, else as in the first file.
- Two columns of one file that have the same name then, regardless of case, clash: an alias settles it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import name_key
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path

Key = tuple[str, ...]
"""A path whose names are compared regardless of case."""


def key_of(path: ColumnPath) -> Key:
    """The key of a path."""
    return tuple(map(name_key, path))


@dataclass(frozen=True)
class Names:
    """Aliases and left out columns.

    Args:
        aliases: the new name by the path in files.
        excluded: paths in files.
    """

    aliases: Mapping[ColumnPath, str] = field(default_factory=dict)
    excluded: frozenset[Key] = frozenset()

    @classmethod
    def of(cls, aliases: Mapping[str, str] | None, exclude: Iterable[str] = ()) -> Names:
        """The names that users give by dotted paths.

        Raises:
            InvalidRequestError: a path is invalid, or an alias moves a column into another struct.
        """
        found = {parse_path(old): _alias(old, new) for old, new in (aliases or {}).items()}
        if isinstance(exclude, str):
            raise InvalidRequestError(f"exclude must be a list of columns, got {exclude!r}")
        return cls(found, frozenset(key_of(parse_path(path)) for path in exclude))

    def name(self, path: ColumnPath, siblings: Collection[str] = ()) -> str | None:
        """The name of the column at a path of a file; None if it is left out.

        Args:
            siblings: the names beside it, any of which an alias may mean exactly.
        """
        key = key_of(path)
        if key in self.excluded:
            return None
        if path in self.aliases:
            return self.aliases[path]
        alike = (
            new
            for old, new in self.aliases.items()
            if key_of(old) == key and old[-1] not in siblings
        )
        return next(alike, path[-1])


def _alias(old: str, new: str) -> str:
    source, target = parse_path(old), parse_path(new)
    if len(target) > 1 and target[:-1] != source[:-1]:
        raise InvalidRequestError(
            f"the alias {render_path(source)} => {render_path(target)} would move the column into "
            "another "
            "struct; a column can only be renamed"
        )
    return target[-1]
