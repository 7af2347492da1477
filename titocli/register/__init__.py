"""Infers a family from a checkpoint, and keeps registered families."""
