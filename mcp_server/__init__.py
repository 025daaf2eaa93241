"""Connect coding agents: the tools of MCP, the hooks of each harness and their transcripts.

This package may import `agents` and the apps below it, but not `console`.
"""
