"""What a facility hands over: a folder that needs neither the results nor a network."""

FOLDER = "handover"
