"""Mutated inputs, and what has to be true of each; README.md says how to run it."""
