"""Answering a scan: filters, pruning, plans, and adapting segments to the wanted schema."""
