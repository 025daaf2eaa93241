"""The weekly page: what a project's agents learned, as a page and as Markdown.

This package may import `playbook` and the console's own top-level modules.
"""
