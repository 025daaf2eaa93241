"""The running product under measurement: its web server, workers, jobs and page addresses.

May import the apps, and no other room of `benchmarks`.
"""
