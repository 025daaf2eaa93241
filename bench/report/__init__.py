"""Tables, charts and figures; imports no other package of `bench`."""
