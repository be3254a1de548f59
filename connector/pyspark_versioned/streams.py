"""Refuse streaming writes, which tables do not support yet."""

from __future__ import annotations

from typing import NoReturn

from versioned_catalog import InvalidRequestError


def refuse_stream_by_name(table: str) -> NoReturn:
    """Refuse ``writeStream.toTable(table)``."""
    _refuse(table, f'rows.writeTo("{table}").append()')


def refuse_stream_by_path(path: str) -> NoReturn:
    """Refuse ``writeStream.format("versioned").start(path)``."""
    _refuse(path, f'rows.write.format("versioned").mode("append").save("{path}")')


def _refuse(table: str, write: str) -> NoReturn:
    raise InvalidRequestError(
        f"{table}: a stream can't write to a table yet; write each batch with "
        f"writeStream.foreachBatch(lambda rows, batch: {write})",
        condition="NOT_SUPPORTED",
    )
