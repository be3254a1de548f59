"""Rows of one schema become rows of another: the plan, decided once, and the loop that obeys it."""
