"""What opens and writes files, and takes and returns a Model."""
