"""Speed and memory, beside DALI's tool under MXNet. Run by ``make bench``."""
