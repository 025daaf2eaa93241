"""Fill what keyword and semantic search read of messages and summaries."""
