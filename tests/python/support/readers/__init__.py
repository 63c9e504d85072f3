"""Lists of every way to read a thing, so that one test can go through them."""
