"""A server of ranges that can fail, and models behind URLs."""
