"""Where rows are kept: tables declared once, one dialect file per database."""
