"""Sessions: the client's door to the runtime (white paper, section 2; OSDI'16, section 3.3)."""
