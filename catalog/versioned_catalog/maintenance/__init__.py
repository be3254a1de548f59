"""Clean-up and repair: vacuum, expire, verify, recover."""
