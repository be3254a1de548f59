"""The command line ``versioned``.

PyArrow and rich are imported inside functions, so that help and usage errors appear at once.
"""
