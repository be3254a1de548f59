"""What lies beside the core: files, tables and engines of others.

The core reaches it by ``versioned_catalog.interop`` and never imports it.
"""
