"""Writing: plans, segments and their statistics, changes of rows, compaction.

In come rows and a plan, out go segments and the operation that commits them.
"""
