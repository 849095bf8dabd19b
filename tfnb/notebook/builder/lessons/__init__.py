"""Lessons: "build this", with hints, checked by the values, shapes and dtypes of what was built."""
