"""Plans that make a table what a CREATE TABLE statement declares."""
