"""The running product under measurement: web server, workers, jobs and page addresses.

This package may import the apps, and no other package of `benchmarks`.
"""
