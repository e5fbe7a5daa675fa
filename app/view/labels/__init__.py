"""Labels of messages and scenario faults, and the legend."""
