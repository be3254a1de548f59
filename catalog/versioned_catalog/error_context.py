"""Have the errors of a class's methods name the table that an object of it is about."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from versioned_catalog.errors import naming_table

_Class = TypeVar("_Class", bound=type)


def names_table_in_errors(
    names: Callable[[Any], tuple[str, ...]], *also: str
) -> Callable[[_Class], _Class]:
    """Decorate a class: errors out of its public methods, inherited ones too, name the table.

    Args:
        names: what the table of an object is called; see ``VersionedError.name_table``.
        also: private methods that are handed to other objects.
    """

    def decorate(cls: _Class) -> _Class:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if inspect.isfunction(method) and (not name.startswith("_") or name in also):
                setattr(cls, name, _named(method, names))
        return cls

    return decorate


def _named(
    method: Callable[..., Any], names: Callable[[Any], tuple[str, ...]]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def named(self: Any, *args: Any, **kwargs: Any) -> Any:
        with naming_table(*names(self)):
            return method(self, *args, **kwargs)

    return named
