"""One module per peer. The same work has the same name in all of them."""
