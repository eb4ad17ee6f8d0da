"""Commands without a screen, each as a process of its own."""
