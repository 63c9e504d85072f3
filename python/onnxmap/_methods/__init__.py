"""What the classes of `_core` do in Python: the classes here give their methods to them.

A class of `_core` has in C++ what reads or edits a model, and what loops call.
"""
