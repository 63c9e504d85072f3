"""Tensors to read: by their bytes, at random, and in each place where bytes may be."""
