"""The improve loop: observe, analyze, fix, verify."""
