"""Pure checks of templates over generated conversations."""
