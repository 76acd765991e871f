"""Targets that can be changed and put back: files, environments, anything that can be got and set.

An agent's live settings are a target too (`knobs.versions.StoredSettings`).
"""
