"""What comes in and what goes out, a file for each noun; none of them writes."""
