"""What the tests share: models and files to read, processes to run, and oracles."""
