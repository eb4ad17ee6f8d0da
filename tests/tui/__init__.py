"""The interface, driven by a pilot or drawn without an app."""
