"""Sharing a project with a team: `/share`, its offer on the start screen, and what waits to be sent."""
