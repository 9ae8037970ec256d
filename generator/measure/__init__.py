"""The referee: our arithmetic against what engines themselves reported, in recorded runs and from an engine that is asked."""
