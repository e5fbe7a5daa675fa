"""Commands in processes of their own: servers, terminals, signals, and what a shell does with a copied line."""
