"""The page of a playbook revision: its entries, its changes, and how to revert them.

This package may import `playbook` and the console's own top-level modules.
"""
