"""Input formats, a module each, and their registry."""
