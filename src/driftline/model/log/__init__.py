"""The event log: JSON Lines, one event a line, arrival order is line order."""
