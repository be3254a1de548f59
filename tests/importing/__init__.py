"""Import of foreign files."""
