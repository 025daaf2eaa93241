"""The page Connect: what a coding agent needs to call the service, a key, and who has reported.

This package may import `access`, `mcp_server.hooks` and the console's own top-level modules.
"""
