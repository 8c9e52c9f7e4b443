"""The verbs: one function for the work of each, which the command ``airrvec`` and Python share."""
