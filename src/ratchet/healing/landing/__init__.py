"""Where the result of an episode goes: into the project's files, onto a branch, into a patch file."""
