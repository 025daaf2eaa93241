"""Pair failed tool calls with the calls that fixed them, and phrase the difference.

The package may import `ace.rules.files`, `ace.rules.task` and what these two may import.
"""
