"""The project card: what every session should know of a project, made by counting alone.

`card_rows` reads what earlier tasks left, `known_commands`, `failures` and `work` count it, and
`card` writes the lines within 300 tokens.
"""
