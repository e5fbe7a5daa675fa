"""The gateway core. Users import its public names from `trunkline`; rooms import each other by their full names."""

#: the version; the build reads it here, so that nobody has to search the installed packages for it
VERSION = "0.1.0.dev0"
