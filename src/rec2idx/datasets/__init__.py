"""The records of files as a data set for training."""
