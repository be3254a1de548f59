"""The model: types, values, columns, schemas, and changes of schema, as frozen values.

In comes text (DDL, SQL literals, JSON), out go validated values; a change returns a new value. No I/O.
It imports storage for text files alone.
"""
