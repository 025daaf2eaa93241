"""The pages of the agent: its runs as traces, its settings and its tools."""
