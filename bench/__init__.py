"""Benchmarks: what loading, viewing and touching ONNX models costs here, beside every peer."""
