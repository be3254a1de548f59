"""Refuse streaming writes, which tables do not support yet."""

from __future__ import annotations

from typing import NoReturn

from versioned_catalog import InvalidRequestError


def refuse_stream(table: str, *, by_name: bool) -> NoReturn:
    """Refuse ``writeStream.toTable(table)``, or ``writeStream.format("versioned").start(table)``."""
    by_path = f'.write.format("versioned").mode("append").save("{table}")'
    write = f'.writeTo("{table}").append()' if by_name else by_path
    raise InvalidRequestError(
        f"{table}: a stream can't write to a table yet; write each batch with "
        f"writeStream.foreachBatch(lambda rows, batch: rows{write}), and the options application and "
        "batch, so that a repeated batch is written once",
        condition="NOT_SUPPORTED",
    )
