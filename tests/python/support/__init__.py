"""Shared by the tests: models and files to read, child processes, and oracles."""
