"""Write sessions and agent memories to a file of JSON lines, and read them back whole.

May import everything of `conversations` but its views, commands and stores.
"""
