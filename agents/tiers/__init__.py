"""Facts and episodes: memories of these kinds, under the names of seed 004."""
