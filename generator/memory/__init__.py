"""The memory rules: placement, caches, recurrent state, budgets. Pure arithmetic on a header and settings, no I/O, no clock."""
