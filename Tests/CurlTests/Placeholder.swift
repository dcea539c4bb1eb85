// Replaced by the target's first tests.
