"""Sessions: the interface between the client and the runtime (white paper, section 2; OSDI'16, section 3.3)."""
