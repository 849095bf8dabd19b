"""Shapes, constants and placeholders; elements that are moved, joined, cut, picked and repeated."""
