"""The faults that can be placed at the cursor."""
