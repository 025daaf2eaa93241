"""Conflicts between rules: their two sides, and when they open and close.

May import `playbook.entries`, `playbook.delta_vectors` and everything below them.
"""
