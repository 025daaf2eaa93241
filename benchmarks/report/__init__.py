"""Tools for reporting results: quality metrics, a progress bar and SVG charts.

This package imports no other package of `benchmarks`.
"""
