"""What differs between the databases: clock, connecting, beginning, errors, and what is worth waiting for."""
