"""What the jar asks Python: one JSON request and one JSON answer a question."""
