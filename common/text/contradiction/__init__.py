"""Decide whether two texts that look alike disagree: opposites, word order, amounts, negation.

Pure functions; imports nothing but `common.text`.
"""
