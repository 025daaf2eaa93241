"""The views of mem0's HTTP API. `view` has their base; the routes are in `mem0.urls`."""
