"""Requests of the jar, carried out: ``connector/PROTOCOL.md`` lists them."""
