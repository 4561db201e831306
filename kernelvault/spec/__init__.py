"""Frozen records that every layer shares. A record that would be illegal cannot be built."""
