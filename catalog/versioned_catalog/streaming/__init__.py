"""Reading a table as a stream: offsets, admission, and the segments of a micro-batch."""
