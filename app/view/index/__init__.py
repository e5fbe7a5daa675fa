"""The index of a run that the views share."""
