"""Messages: queued while a run is open, delivered once or handed back, over crashes (RUN-6)."""
