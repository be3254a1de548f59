"""Which operations can be committed after which others (FORMAT.md, section 11), one module a rule."""
