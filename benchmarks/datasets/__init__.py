"""Readers of the data that is measured on: collections, pairs, questions, conversations.

May import `benchmarks.report` and the apps.
"""
