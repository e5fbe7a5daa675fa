"""The gateway core. Users import its public names from `trunkline`; rooms import each other by their full names."""
