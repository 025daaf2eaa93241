"""Make, find, change and archive sessions."""
