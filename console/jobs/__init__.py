"""What the service does by the clock, and when each of it last ended well."""
