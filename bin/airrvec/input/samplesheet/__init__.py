"""The samplesheet, and the checks before the first task."""
