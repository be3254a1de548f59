"""Reading: filters, pruning, projection, merging, and scans of one state.

In come a state, columns and filters; out go tasks, decided once, and the rows that they read. It never
commits. It imports the log and what is below.
"""
