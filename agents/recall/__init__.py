"""Read what an agent remembers at the start of an invocation."""
