"""For authors of plugins: contract suites that a backend has to pass, as plain functions for any test runner."""
