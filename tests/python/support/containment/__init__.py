"""Folders full of links, and where a location of external data may lead."""
