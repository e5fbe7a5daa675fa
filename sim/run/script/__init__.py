"""The steps of a script: what people and the world do, and what happens to the processes of the gateway."""
