"""Conflicts: the two sides of each, and how a conflict opens, closes and becomes settled.

May import `playbook.entries`, `playbook.delta_vectors` and everything below them.
"""
