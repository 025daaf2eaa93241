"""Readers of the benchmarks' data: collections, pairs, questions, conversations.

May import `benchmarks.report` and the apps.
"""
