"""Log records with structured fields (docs/observability.md)."""

from __future__ import annotations

import logging
from typing import Final

CORE: Final = logging.getLogger("versioned_catalog")
INTEROP: Final = logging.getLogger("versioned_interop")
CONNECTOR: Final = logging.getLogger("pyspark_versioned")
"""The loggers, one a package. They print nothing unless the application configures logging."""

for _logger in (CORE, INTEROP, CONNECTOR):
    _logger.addHandler(logging.NullHandler())

DEBUG, INFO, WARNING = logging.DEBUG, logging.INFO, logging.WARNING


def is_logged(level: int) -> bool:
    """Whether anybody sees the records of this package of a level."""
    return CORE.isEnabledFor(level)


def record(
    level: int, text: str, *arguments: object, logger: logging.Logger = CORE, **fields: object
) -> None:
    """Log a record.

    Args:
        level: of the module ``logging``.
        text: the message, as a format of ``%``.
        arguments: its arguments.
        logger: that of the package.
        fields: attributes of the record; those that are None are left out.
    """
    if logger.isEnabledFor(level):
        extra = {name: value for name, value in fields.items() if value is not None}
        logger.log(level, text, *arguments, extra=extra, stacklevel=2)
