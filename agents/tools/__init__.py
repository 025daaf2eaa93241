"""The tools that an agent may call: memory tools, and tools of MCP servers."""
