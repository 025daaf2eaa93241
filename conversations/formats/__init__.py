"""The shapes of messages: the product's own, OpenAI's and Anthropic's. Pure functions."""
