"""Text becomes a failure: redacted, excerpted, given a kind and a signature, grouped into patterns."""
