"""What a benchmark reports with: quality metrics, a progress bar and SVG charts.

Imports no other room.
"""
