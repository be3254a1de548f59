"""Schema projection: how the rows of a segment become rows of the wanted columns."""
