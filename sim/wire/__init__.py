"""The platforms of the simulator as servers on loopback: the same world and the same rules, on real sockets."""
