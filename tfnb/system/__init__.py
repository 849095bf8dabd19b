"""Services of the operating system: replacing whole files, scratch folders, and delaying Ctrl-C."""
