"""How a model says what it wants: in words, or by the endpoint's function calling."""
