"""Views: named queries, and the columns that they read."""
