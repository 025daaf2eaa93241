"""The review inbox: one card for each decision that waits for a person.

May import `playbook`, `memories`, `ace` and the console's own top-level modules. The
inbox decides nothing itself: each action calls the function behind its API route.
"""
