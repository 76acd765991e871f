"""The coding agents that Ratchet knows: one small module each, behind the port in `client`."""
