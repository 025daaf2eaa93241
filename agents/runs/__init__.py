"""Start, stream, confirm, cancel and record the runs of the agent."""
