"""Models to save, and judges of what a save wrote."""
