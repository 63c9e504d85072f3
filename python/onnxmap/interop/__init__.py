"""Tensors for other libraries. Each library is imported at its first use."""
