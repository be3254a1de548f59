"""Tables as HTML pages, and what notebooks show."""
