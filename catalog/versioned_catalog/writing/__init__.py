"""A write: what is given is bound to the table's schema, planned once, carried out anywhere."""
