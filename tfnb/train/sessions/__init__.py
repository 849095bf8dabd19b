"""Who makes and keeps the session of a training: monitored sessions, supervisor, coordinator."""
