"""Write the prompt of one step, in the order of seed 004, within shares of a budget."""
