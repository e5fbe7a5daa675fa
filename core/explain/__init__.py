"""The decisions behind `trunkline explain`."""
