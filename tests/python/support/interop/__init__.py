"""What the tests with other libraries share."""
