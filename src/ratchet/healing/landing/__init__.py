"""Land the result of an episode: into the project's files, onto a branch, into a patch file."""
