"""Lessons: mined, ranked, recalled, fenced, delivered, credited, retired."""
