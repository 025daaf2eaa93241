"""The search page: the API's search as a form, with the explanation of its hits.

May import `memories`, `console.files` and the console's own top-level modules.
"""
