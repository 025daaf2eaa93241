"""What was decided about a task in an earlier conversation or commit."""
