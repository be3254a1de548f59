"""The entries that operations write, one module a kind of operation; the rules were checked before."""
