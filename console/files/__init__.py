"""The files that memories speak of: their tree, and what is known of one, drawn."""
