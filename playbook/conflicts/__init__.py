"""Conflicts between rules: the two sides, and when conflicts open and close.

May import `playbook.entries`, `playbook.delta_vectors` and everything below them.
"""
