"""Devices: where programs run and tensors live (white paper, section 3; OSDI'16, section 3.3)."""
