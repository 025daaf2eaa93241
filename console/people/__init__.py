"""The pages about people: what is known about one, and what an agent notes about them.

This package may import `conversations`, `memories` and the console's own top-level modules.
"""
