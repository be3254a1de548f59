"""A table as one HTML page that stands alone."""
