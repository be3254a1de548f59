from __future__ import annotations

from sql.conftest import catalog, ns, sql_spark, warehouse  # noqa: F401
