"""New messages, as the functions of `onnx.helper` make them."""
