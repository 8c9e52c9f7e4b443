"""Scripts' shared options, the command airrvec, the functions for notebooks."""
