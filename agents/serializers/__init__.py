"""What the routes of the agent take and answer."""
