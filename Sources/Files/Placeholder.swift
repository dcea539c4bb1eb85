// Replaced by the target's first files.
