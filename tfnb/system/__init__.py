"""What the operating system is asked: whole files, scratch folders, and holding Ctrl-C back."""
