"""The images of a record file as files again."""
