"""What the rules change: sessions that were given a rule beside those that went without it.

May import everything below the console.
"""
