"""The log of a warehouse: names, their locations, and views."""
