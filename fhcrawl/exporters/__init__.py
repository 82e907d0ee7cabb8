"""Exporters of rows and of feeds, and the destinations of exports."""
