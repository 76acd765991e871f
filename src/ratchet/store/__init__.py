"""Rows, kept in a database: tables declared once, one dialect file per database."""
