"""Gates in order, each turning evidence into a verdict. Returned, never stored here."""
