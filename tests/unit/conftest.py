"""What holds for all unit tests."""

from hypothesis import settings

# A test on a busy machine takes longer, and is no less right.
settings.register_profile("airrvec", deadline=None)
settings.load_profile("airrvec")
