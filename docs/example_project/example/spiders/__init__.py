"""The spiders of the project; the add-on adds `history`."""
