"""The routes of the agent."""
