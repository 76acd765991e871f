"""Live settings: what can be turned (`knob`), which values are in force (`versions`, `live`), and what they do."""
