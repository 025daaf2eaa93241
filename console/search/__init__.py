"""The API's search for people: everything that it can be asked, and why it answers so."""
