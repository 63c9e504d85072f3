"""What a result must be, decided without onnxmap: by protobuf, NumPy, ctypes or a specification."""
