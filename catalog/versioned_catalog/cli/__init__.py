"""The command line ``versioned``.

Its modules import what needs PyArrow or rich inside functions: help and wrong usage answer at once.
"""
