"""Models, and files of them, that several tests read."""
