"""Random calls of the whole public interface; see `__main__`."""
