"""SGLang's command line for a family, and its process."""
