"""Where DALI and MXNet keep their rec2idx, for code that imports it from there."""
