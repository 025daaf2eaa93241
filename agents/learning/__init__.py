"""Store what an invocation and a conversation taught, in jobs that can run twice."""
