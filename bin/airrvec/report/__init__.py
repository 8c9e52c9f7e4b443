"""The MultiQC report and the summary for the terminal."""
