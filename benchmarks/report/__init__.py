"""Tools for reporting results: quality metrics, a progress bar and SVG charts.

Imports no other room.
"""
