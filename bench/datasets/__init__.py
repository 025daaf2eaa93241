"""Readers of the benchmarks' data: collections, pairs, questions, conversations.

This package may import `benchmarks.report` and the apps.
"""
