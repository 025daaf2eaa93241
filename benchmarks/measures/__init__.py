"""The benchmarks: one module for each name that `manage.py benchmark` accepts.

This package may import every other package of `benchmarks`. Only the command may import
this package.
"""
