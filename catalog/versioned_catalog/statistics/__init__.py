"""Column statistics of a segment: null counts, NaN counts and bounds."""
