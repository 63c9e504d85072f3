"""Tensors for other libraries, each of which is imported when it is first asked for."""
