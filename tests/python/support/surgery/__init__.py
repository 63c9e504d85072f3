"""What the tests of graph surgery share.

random_models: valid models that onnxruntime runs, with subgraphs, functions and dead parts.
programs: random programs of verbs, and what each must leave as it is.
"""
