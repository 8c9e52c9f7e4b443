"""Clusters, diversity, and comparisons of samples."""
