"""Committing: operations, and the rules of conflicts as one table (FORMAT.md, section 11).

In comes an operation that was planned on a state, out goes the entry after the newest state, or a
refusal. Rules refuse; so does an entry that can't be built, such as that of an ALTER that a pin forbids.
Rules evaluate filters on statistics, so this room lies above ``read``.
"""
