"""What a hostile model, project, file, page or endpoint may try, tried: the inputs of the safety page by class."""
