"""Input files of many formats, read into standardised receptors and cells."""
