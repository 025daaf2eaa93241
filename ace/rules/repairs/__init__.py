"""Pair failed tool calls with the calls that fixed them, and phrase the difference.

May import `ace.rules.files`, `task` and what these may import.
"""
