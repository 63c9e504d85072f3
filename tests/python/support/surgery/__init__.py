"""What the tests of graph surgery share.

random_models: valid models that onnxruntime runs, with subgraphs, functions and dead parts.
functions: models that call functions, and what inlining makes of them.
programs: random programs of verbs, and what each must leave as it is.
onnx_by_onnxmap: onnx's own functions made of the verbs, for its tests (tools/run_onnx_tests).
"""
