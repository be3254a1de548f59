"""Which operations can be committed after which others: one table of rules (FORMAT.md, section 11).

In: an operation that was planned on a base (``operations``), and the newest state. Out: the entry for
the log, or the error that refuses the operation (``matrix.propose``), at every attempt of every caller.
Each module of rules is a chapter: ``incarnation``, ``segments``, ``schema``, ``rows``, ``versions``. The
entries are built by ``entries`` and ``write_entries``. Imports the log, the pruning of segments and the
overlaps of their keys, and what is below these; reads no rows.
"""
