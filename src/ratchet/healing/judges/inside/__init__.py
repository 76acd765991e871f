"""Scripts of the pytest grader. They run inside the sandbox, on the project's own Python, with the standard library."""
