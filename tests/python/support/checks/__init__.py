"""What the tests of `Model.check` share."""
