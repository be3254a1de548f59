"""What happened to a table: entries, state, checkpoints, conflicts and commits."""
