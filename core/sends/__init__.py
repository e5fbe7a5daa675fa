"""The values of a client's send: request, plan, outcome."""
