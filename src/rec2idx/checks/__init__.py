"""What is wrong with a record file and its index, as findings."""
