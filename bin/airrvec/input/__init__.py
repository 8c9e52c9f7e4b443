"""From files of any origin to receptors and cells."""
