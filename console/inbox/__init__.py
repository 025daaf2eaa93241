"""The review inbox: what waits for a person, one card each, and what they decide.

`views` are the doors; the rest says what stands on a card and in which order.
"""
