"""The benchmarks: a module for each name that `manage.py benchmark` accepts.

May import every other room of `benchmarks`; only the command imports this one.
"""
