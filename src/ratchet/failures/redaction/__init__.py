"""Take secrets and personal details out of text before it reaches a disk, a log or an agent."""
