"""Runs of the pipeline, each disturbed at random, resumed, and compared with an undisturbed one by hash."""
