"""Build the context of a session for a model, within a budget of tokens."""
