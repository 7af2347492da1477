"""Tokenizers, token ids, and the comparator of token sequences."""
