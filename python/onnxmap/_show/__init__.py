"""What people see: descriptions, nearest names, progress."""
