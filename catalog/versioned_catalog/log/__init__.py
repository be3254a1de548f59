"""The log of a table: entries, states, checkpoints, manifests, marks; reading and committing them.

In come a store and entries, out go immutable states. It knows the model, and nothing of scans or writes.
"""
