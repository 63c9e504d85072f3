"""Files, tensors and edits that must be refused, files hard to read, and random mutants."""
