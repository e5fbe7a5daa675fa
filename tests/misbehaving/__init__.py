"""Parts that misbehave, on a real file: each ends only itself, and the others are served at every start."""
