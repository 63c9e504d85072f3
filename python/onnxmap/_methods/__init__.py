"""What the classes of `_core` do in Python: each class here gives its methods to one of them.

A class of `_core` has in C++ what reads or edits a model, and what loops call.
"""
