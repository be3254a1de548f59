"""What is known of the values of a segment: counts of nulls and NaNs, and bounds."""
