"""`trunkline serve`: a gateway of one process, from one configuration file."""
