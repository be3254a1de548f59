"""The log of a table: entries, checkpoints, states; reading them and committing them."""
