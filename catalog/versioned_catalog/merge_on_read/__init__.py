"""Reading tables with a primary key: the newest row of each key, merged from sorted runs."""
