"""The download handlers."""
