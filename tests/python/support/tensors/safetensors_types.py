"""The types that ONNX and the package safetensors have; torch names them as NumPy does."""

SAFETENSORS_TYPES = {
    "FLOAT": "float32", "UINT8": "uint8", "INT8": "int8", "UINT16": "uint16", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "BOOL": "bool", "FLOAT16": "float16", "DOUBLE": "float64",
    "UINT32": "uint32", "UINT64": "uint64", "COMPLEX64": "complex64", "BFLOAT16": "bfloat16",
    "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E8M0": "float8_e8m0fnu",
}  # fmt: skip
