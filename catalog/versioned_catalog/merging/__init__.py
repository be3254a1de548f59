"""Reading a keyed table: the rows that count, out of sorted runs, in bounded memory."""
