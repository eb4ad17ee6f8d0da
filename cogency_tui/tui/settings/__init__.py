"""The list of options (`/settings`) and the theme picker."""
