"""The commands: arguments in, library calls, words and exit status out."""
