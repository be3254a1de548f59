"""Files, tables and engines of others, beside the core.

The core reaches it by ``versioned_catalog.interop`` and never imports it.
"""
