"""How models are written: where a save may write, and what."""
