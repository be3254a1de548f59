"""Make the errors of a class's public methods name the table that the object works on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from versioned_catalog.errors import naming_table

_Class = TypeVar("_Class", bound=type)


def names_table_in_errors(names: Callable[[Any], tuple[str, ...]]) -> Callable[[_Class], _Class]:
    """Decorate a class whose public methods raise errors that name the table.

    ``names`` returns what errors may call the table of an object; see ``VersionedError.name_table``.
    """

    def decorate(cls: _Class) -> _Class:
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _naming(method, names))
        return cls

    return decorate


def _naming(
    method: Callable[..., Any], names: Callable[[Any], tuple[str, ...]]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def naming(self: Any, *args: Any, **kwargs: Any) -> Any:
        with naming_table(*names(self)):
            return method(self, *args, **kwargs)

    return naming
