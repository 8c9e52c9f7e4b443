"""Input formats, one module each, and their registry."""
