"""The guard before every route: ids, limits, checks of hosts and origins, headers, and errors as problems."""
