"""The weekly page: what a project's agents learned, as a page and as Markdown.

This package may import `playbook`, `mcp_server.hooks` and the console's own top-level modules.
"""
