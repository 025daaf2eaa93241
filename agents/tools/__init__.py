"""The tools that an agent may call: memory tools, HTTP tools, tools of MCP servers."""
