"""The MCP server: who calls, which tools there are, and how a tool answers.

The package may import what the tools need, but no tool.
"""
