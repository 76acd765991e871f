"""What several tests need: histories, worlds, servers, clients."""
