"""The metadata of an Arrow schema in order, with repeated keys: PyArrow shows it as a dictionary."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


class _ArrowSchema(ctypes.Structure):
    """The first members of ``struct ArrowSchema`` of Arrow's C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


_POINTER_OF = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER_OF.restype = ctypes.c_void_p
_POINTER_OF.argtypes = [ctypes.py_object, ctypes.c_char_p]


def metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """The keys and values of a schema's metadata, as the C data interface lays them out."""
    capsule = schema.__arrow_c_schema__()  # owns the memory that is read here
    found = _ArrowSchema.from_address(_POINTER_OF(capsule, b"arrow_schema"))
    if not found.metadata:
        return []
    memory = _Memory(found.metadata)
    return [(memory.text(), memory.text()) for _ in range(memory.number())]


class _Memory:
    """Reads numbers and texts one after the other."""

    def __init__(self, address: int) -> None:
        self._address = address

    def number(self) -> int:
        """A 32-bit integer."""
        return int.from_bytes(self._take(4), sys.byteorder, signed=True)

    def text(self) -> str:
        """A text after its length."""
        return self._take(self.number()).decode()

    def _take(self, size: int) -> bytes:
        found = ctypes.string_at(self._address, size)
        self._address += size
        return found
