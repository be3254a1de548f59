"""Clean-up and repair: vacuum, expiry, verify, recover."""
