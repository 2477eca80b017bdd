"""The verbs of the command line, by what they work on: each file adds its own."""
