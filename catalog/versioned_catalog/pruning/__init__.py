"""Filters evaluated on segment metadata: inclusive and strict, as in Iceberg's metrics evaluators."""
