"""Doors of memories, a file for each noun: parse, call one function, answer."""
