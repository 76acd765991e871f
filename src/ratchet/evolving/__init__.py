"""Better an agent on a benchmark, and keep only what is proven."""
