"""The command line ``versioned``.

In come arguments, out go tables for people or JSON for scripts, and an exit code.
"""
