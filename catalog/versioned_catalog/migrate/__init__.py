"""Plans that make a table what a CREATE TABLE statement declares.

In come a table and a schema file, out goes a plan, which is applied as one commit.
"""
