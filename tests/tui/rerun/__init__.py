"""A turn that is run again, over real agents."""
