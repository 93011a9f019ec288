"""Pictures into a new record file."""
