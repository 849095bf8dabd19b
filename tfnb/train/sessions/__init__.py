"""Creation and supervision of the session of a training: monitored sessions, supervisor, coordinator."""
