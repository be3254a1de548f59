"""Data types as values, how they are written, and which type a column may widen to."""
