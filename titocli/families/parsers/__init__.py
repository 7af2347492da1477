"""Response parsers: from completion ids to reasoning, content and tool calls."""
