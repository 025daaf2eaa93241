"""The search page: a form for the API's search, with an explanation of each hit.

This package may import `memories`, `console.files` and the console's own top-level
modules.
"""
