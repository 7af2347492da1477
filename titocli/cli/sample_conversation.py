"""The conversation that ``titocli render`` shows when none is given."""

from __future__ import annotations

from titocli.jsonvalue import JsonObject

SAMPLE: JsonObject = {
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is the weather in Paris?"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "The user wants the weather, and there is a tool for it.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"temperature": 18, "sky": "clear"}'},
        {
            "role": "assistant",
            "content": "It is 18 °C in Paris, with a clear sky.",
            "reasoning_content": "18 degrees and clear.",
        },
        {"role": "user", "content": "And in Lyon?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather of a city, now.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "city": {"type": "string"},
                        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    },
                    "required": ["city"],
                },
            },
        }
    ],
}

__all__ = ["SAMPLE"]
