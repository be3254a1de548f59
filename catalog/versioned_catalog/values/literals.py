"""What other packages use of constants, value text and SQL literals."""

from versioned_catalog.values.constants import (
    constant,
    from_scalar,
    from_scalar_text,
    rekey_constant,
    to_python,
    to_scalar,
    widen,
)
from versioned_catalog.values.sql_literals import constant_from_sql
from versioned_catalog.values.sql_rendering import to_sql
from versioned_catalog.values.value_text import ValueText, decode, encode

__all__ = [
    "ValueText",
    "constant",
    "constant_from_sql",
    "decode",
    "encode",
    "from_scalar",
    "from_scalar_text",
    "rekey_constant",
    "to_python",
    "to_scalar",
    "to_sql",
    "widen",
]
