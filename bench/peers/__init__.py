"""One module a peer, all with the same names for the same work, so that contenders are data."""
