"""Count the failures of recorded sessions, and the repairs that then worked. Pure.

This is the judge of what the product remembers about failures. It imports the parsers of
transcripts, and nothing of the product that finds failures or repairs itself.
"""
