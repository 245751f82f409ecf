"""The pure core: definitions, states and decisions. No I/O, no clock, no threads, no randomness."""
