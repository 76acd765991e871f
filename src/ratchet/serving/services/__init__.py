"""The servers beside Ratchet, as processes of this machine: started, health-checked, stopped without orphans."""
