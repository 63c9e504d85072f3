"""Edits that protobuf and onnxmap make alike: random programs, loops, and models to edit."""
