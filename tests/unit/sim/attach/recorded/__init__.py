"""Reading recorded wires."""
