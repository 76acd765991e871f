"""Runs what nobody has read yet: sandboxes behind one port, and workspaces with checkpoints."""
