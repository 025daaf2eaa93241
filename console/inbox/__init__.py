"""The review inbox: one card for each decision that waits for a person.

This package may import `playbook`, `memories`, `ace` and the console's own top-level
modules. The inbox itself contains no rules for decisions. Each action calls the same
function as the API route for that action.
"""
