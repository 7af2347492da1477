"""Bodies that are broken, wrong or odd, by the route that they are sent to."""

from __future__ import annotations

import gzip
import random
from typing import Any

U: Any = {"role": "user", "content": "What is 1+2?"}
A: Any = {"role": "assistant", "content": "fine"}
TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
OWN_TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}
CHAT, MESSAGES, COUNT = "v1/chat/completions", "v1/messages", "v1/messages/count_tokens"
SAMPLES, CREATE = "samples", ""
ROUTES = (CREATE, CHAT, MESSAGES, COUNT, SAMPLES)
DEEP = 100_000


def arrays(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


#: Bodies that are no JSON object, whatever the route.
BROKEN: dict[str, bytes] = {
    "cut off": b'{"messages": [{"role": "user"',
    "one brace": b"{",
    "closing brace": b"}",
    "word": b"{bad",
    "whitespace": b" \n ",
    "array": b"[]",
    "array of messages": b'[{"role": "user", "content": "x"}]',
    "null": b"null",
    "string": b'"text"',
    "number": b"1",
    "true": b"true",
    "two documents": b"{}{}",
    "text after it": b"{} and more",
    "comma at the end": b'{"a": 1,}',
    "no colon": b'{"a" 1}',
    "single quotes": b"{'a': 1}",
    "a comment": b'{"a": 1} // so',
    "a key that is no string": b'{1: "a"}',
    "raw newline in a string": b'{"a": "x\ny"}',
    "raw NUL in a string": b'{"a": "x\x00y"}',
    "NUL": b"\x00",
    "unknown escape": b'{"a": "\\x41"}',
    "half an escape": b'{"a": "\\u12"}',
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": Infinity}',
    "minus Infinity": b'{"a": [-Infinity]}',
    "leading zero": b'{"a": 01}',
    "plus": b'{"a": +1}',
    "bare fraction": b'{"a": .5}',
    "hexadecimal": b'{"a": 0x10}',
    "a digit too many": b'{"max_tokens": ' + b"9" * 5000 + b"}",
    "byte order mark": b"\xef\xbb\xbf{}",
    "utf-16": '{"a": "ü"}'.encode("utf-16"),
    "utf-16 without mark": '{"a": "ü"}'.encode("utf-16-le"),
    "utf-32": '{"a": "ü"}'.encode("utf-32"),
    "latin-1": '{"a": "ü"}'.encode("latin-1"),
    "truncated utf-8": b'{"a": "\xc3"}',
    "overlong utf-8": b'{"a": "\xc0\xaf"}',
    "beyond Unicode": b'{"a": "\xf4\x90\x80\x80"}',
    "utf-8 cut at the end": b'{"messages": [{"role": "user", "content": "\xe6\x97',
    "deep arrays": arrays(DEEP).encode(),
    "deep arrays, cut off": b"[" * DEEP,
    "deep objects": objects(DEEP).encode(),
    "deep objects in a field": b'{"messages": ' + objects(DEEP).encode() + b"}",
    "gzip": gzip.compress(b"{}", mtime=0),
    "form": b"messages=x&model=y",
    "multipart": b'--x\r\nContent-Disposition: form-data; name="messages"\r\n\r\n[]\r\n--x--\r\n',
    "xml": b"<messages/>",
    "random": random.Random(0).randbytes(300),
}

_CALLED: Any = {**A, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f"}}]}


def _call(**call: Any) -> dict[str, Any]:
    """A conversation with one call that is spoilt."""
    good = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {**A, "tool_calls": [{**good, **call}]}
    return {"messages": [U, called, {"role": "tool", "tool_call_id": "c", "content": "r"}]}


def _said(**message: Any) -> dict[str, Any]:
    return {"messages": [{**U, **message}]}


#: Messages that no wire takes.
MESSAGES_OF_NONE: dict[str, Any] = {
    "no messages": {},
    "messages null": {"messages": None},
    "messages empty": {"messages": []},
    "messages object": {"messages": {}},
    "messages string": {"messages": "What is 1+2?"},
    "messages number": {"messages": 5},
    "a null message": {"messages": [None]},
    "a number": {"messages": [5]},
    "a string": {"messages": ["x"]},
    "a list": {"messages": [[U]]},
    "an empty message": {"messages": [{}]},
    "no role": {"messages": [{"content": "x"}]},
    "role null": _said(role=None),
    "role number": _said(role=5),
    "role list": _said(role=["user"]),
    "role object": _said(role={}),
    "role unknown": _said(role="wizard"),
    "role in capitals": _said(role="User"),
    "role empty": _said(role=""),
    "role of a control token": _said(role="<|im_start|>"),
    "content number": _said(content=5),
    "content true": _said(content=True),
    "content object": _said(content={"text": "x"}),
    "a content part that is a number": _said(content=[5]),
    "a content part without type or text": _said(content=[{}]),
    "a content part of a type of its own": _said(content=[{"type": "hologram"}]),
    "a text part with a number": _said(content=[{"type": "text", "text": 5}]),
    "a part whose type is a list": _said(content=[{"type": ["text"], "text": "x"}]),
    "an image": _said(content=[{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]),
    "ends with the assistant": {"messages": [U, {**A, "content": "never said"}]},
    "assistant alone": {"messages": [{**A, "content": "never said"}]},
}

#: Bodies for OpenAI's route that are JSON and nothing that can be honoured.
OPENAI: dict[str, Any] = MESSAGES_OF_NONE | {
    "calls string": {"messages": [U, {**A, "tool_calls": "x"}, U]},
    "calls object": {"messages": [U, {**A, "tool_calls": {"id": "c"}}, U]},
    "a call that is a number": {"messages": [U, {**A, "tool_calls": [5]}, U]},
    "an empty call": {"messages": [U, {**A, "tool_calls": [{}]}, U]},
    "call without function": {"messages": [U, {**A, "tool_calls": [{"id": "c"}]}, U]},
    "function string": _call(function="f"),
    "function without name": _call(function={"arguments": "{}"}),
    "function name number": _call(function={"name": 5, "arguments": "{}"}),
    "arguments number": _call(function={"name": "f", "arguments": 5}),
    "arguments list": _call(function={"name": "f", "arguments": [1]}),
    "result of no call": {"messages": [U, _CALLED, {"role": "tool", "tool_call_id": "d", "content": "r"}]},
    "two results of one call": {
        "messages": [U, _CALLED, *[{"role": "tool", "tool_call_id": "c", "content": "r"}] * 2]
    },
    "result id number": {"messages": [U, _CALLED, {"role": "tool", "tool_call_id": 5, "content": "r"}]},
    "reasoning number": {"messages": [U, {**A, "reasoning_content": 5}, U]},
    "tools string": {"messages": [U], "tools": "f"},
    "tools object": {"messages": [U], "tools": TOOL},
    "a tool that is a number": {"messages": [U], "tools": [5]},
    "an empty tool": {"messages": [U], "tools": [{}]},
    "tool without name": {"messages": [U], "tools": [{"type": "function", "function": {}}]},
    "tool name number": {"messages": [U], "tools": [{"type": "function", "function": {"name": 5}}]},
    "tool choice number": {"messages": [U], "tools": [TOOL], "tool_choice": 5},
    "tool choice unknown": {"messages": [U], "tools": [TOOL], "tool_choice": "any"},
    "tool choice list": {"messages": [U], "tools": [TOOL], "tool_choice": ["auto"]},
    "tool choice of no tool": {
        "messages": [U],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "g"}},
    },
    "kwargs string": {"messages": [U], "chat_template_kwargs": "x"},
    "kwargs list": {"messages": [U], "chat_template_kwargs": []},
    "kwargs with messages": {"messages": [U], "chat_template_kwargs": {"messages": []}},
    "kwargs with tools": {"messages": [U], "chat_template_kwargs": {"tools": []}},
    "kwargs with a generation prompt": {
        "messages": [U],
        "chat_template_kwargs": {"add_generation_prompt": False},
    },
    "kwargs with a function of the template": {
        "messages": [U],
        "chat_template_kwargs": {"raise_exception": 1},
    },
    "effort list": {"messages": [U], "reasoning_effort": ["low"]},
    "reasoning string": {"messages": [U], "reasoning": "low"},
    "stream string": {"messages": [U], "stream": "yes"},
    "stream number": {"messages": [U], "stream": 1},
    "stream options string": {"messages": [U], "stream": True, "stream_options": "x"},
    "stream options without stream": {"messages": [U], "stream_options": {"include_usage": True}},
    "n two": {"messages": [U], "n": 2},
    "n string": {"messages": [U], "n": "1"},
    "model number": {"messages": [U], "model": 5},
    "temperature string": {"messages": [U], "temperature": "hot"},
    "temperature negative": {"messages": [U], "temperature": -1},
    "temperature true": {"messages": [U], "temperature": True},
    "temperature beyond a double": {"messages": [U], "temperature": 10**400},
    "top_p zero": {"messages": [U], "top_p": 0},
    "top_p two": {"messages": [U], "top_p": 2},
    "top_k fraction": {"messages": [U], "top_k": 1.5},
    "min_p list": {"messages": [U], "min_p": [0]},
    "max_tokens zero": {"messages": [U], "max_tokens": 0},
    "max_tokens negative": {"messages": [U], "max_tokens": -5},
    "max_tokens fraction": {"messages": [U], "max_tokens": 1.5},
    "max_tokens string": {"messages": [U], "max_tokens": "5"},
    "max_tokens of 65 bits": {"messages": [U], "max_tokens": 2**64},
    "max_completion_tokens null and max_tokens zero": {
        "messages": [U],
        "max_completion_tokens": None,
        "max_tokens": 0,
    },
    "seed of 100 bits": {"messages": [U], "seed": 2**100},
    "seed fraction": {"messages": [U], "seed": 0.5},
    "stop number": {"messages": [U], "stop": 5},
    "stop of numbers": {"messages": [U], "stop": [5]},
    "too many stops": {"messages": [U], "stop": ["x"] * 100},
    "stop id string": {"messages": [U], "stop_token_ids": ["5"]},
    "stop id outside the vocabulary": {"messages": [U], "stop_token_ids": [10**9]},
    "stop id negative": {"messages": [U], "stop_token_ids": [-1]},
    "bias list": {"messages": [U], "logit_bias": [1]},
    "bias word": {"messages": [U], "logit_bias": {"x": 1}},
    "bias outside the vocabulary": {"messages": [U], "logit_bias": {"512": 1}},
    "bias negative id": {"messages": [U], "logit_bias": {"-1": 1}},
    "bias of 5000 digits": {"messages": [U], "logit_bias": {"9" * 5000: 1}},
    "bias in other digits": {"messages": [U], "logit_bias": {"\u0661": 1}},
    "bias value string": {"messages": [U], "logit_bias": {"1": "x"}},
    "bias value too large": {"messages": [U], "logit_bias": {"1": 1e9}},
    "logprobs number": {"messages": [U], "logprobs": 1},
    "top_logprobs alone": {"messages": [U], "top_logprobs": 5},
    "top_logprobs too many": {"messages": [U], "logprobs": True, "top_logprobs": 10**6},
    "response format string": {"messages": [U], "response_format": "json"},
    "response format unknown": {"messages": [U], "response_format": {"type": "yaml"}},
    "response format without schema": {"messages": [U], "response_format": {"type": "json_schema"}},
    "regex number": {"messages": [U], "regex": 5},
    "input_ids": {"messages": [U], "input_ids": [1]},
    "lora_path": {"messages": [U], "lora_path": "x"},
    "chat_template": {"messages": [U], "chat_template": "{{ ''.__class__ }}"},
    "functions": {"messages": [U], "functions": []},
    "modalities": {"messages": [U], "modalities": ["audio"]},
}


def _block(role: str, **block: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": [block]}]}


#: Bodies for Anthropic's routes; the count takes them too, unless it does not read the field.
ANTHROPIC: dict[str, Any] = {
    name: body for name, body in MESSAGES_OF_NONE.items() if "assistant" not in name
} | {
    "system number": {"messages": [U], "system": 5},
    "system object": {"messages": [U], "system": {}},
    "a system block that is a number": {"messages": [U], "system": [5]},
    "a system image": {"messages": [U], "system": [{"type": "image", "source": {}}]},
    "a block that is a string": {"messages": [{**U, "content": ["x"]}]},
    "a block without a type": _block("user", text="x"),
    "a block whose type is a number": _block("user", type=5),
    "a document": _block("user", type="document", source={}),
    "text number": _block("user", type="text", text=5),
    "text missing": _block("user", type="text"),
    "thinking number": {
        "messages": [U, {"role": "assistant", "content": [{"type": "thinking", "thinking": 5}]}, U]
    },
    "a call of the user": _block("user", type="tool_use", id="c", name="f", input={}),
    "a result of the assistant": _block("assistant", type="tool_result", tool_use_id="c", content="r"),
    "call without a name": _block("assistant", type="tool_use", id="c", input={}),
    "call with a list as input": _block("assistant", type="tool_use", id="c", name="f", input=[1]),
    "call with text as input": _block("assistant", type="tool_use", id="c", name="f", input="{}"),
    "call id number": _block("assistant", type="tool_use", id=5, name="f", input={}),
    "result id number": _block("user", type="tool_result", tool_use_id=5, content="r"),
    "result content number": _block("user", type="tool_result", tool_use_id="c", content=5),
    "result content object": _block("user", type="tool_result", tool_use_id="c", content={}),
    "an image in a result": _block(
        "user", type="tool_result", tool_use_id="c", content=[{"type": "image", "source": {}}]
    ),
    "tools string": {"messages": [U], "tools": "f"},
    "tools object": {"messages": [U], "tools": OWN_TOOL},
    "a tool that is a number": {"messages": [U], "tools": [5]},
    "a server tool": {"messages": [U], "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "tool name number": {"messages": [U], "tools": [{**OWN_TOOL, "name": 5}]},
    "tool schema string": {"messages": [U], "tools": [{**OWN_TOOL, "input_schema": "x"}]},
    "thinking string": {"messages": [U], "thinking": "on"},
    "thinking unknown": {"messages": [U], "thinking": {"type": "deep"}},
    "thinking list": {"messages": [U], "thinking": []},
    "effort number": {"messages": [U], "output_config": {"effort": 5}},
    "output config string": {"messages": [U], "output_config": "x"},
    "kwargs list": {"messages": [U], "chat_template_kwargs": []},
    "kwargs with messages": {"messages": [U], "chat_template_kwargs": {"messages": []}},
    "model number": {"messages": [U], "model": 5},
    "input_ids": {"messages": [U], "input_ids": [1]},
}
#: What only a request for a turn has.
ANTHROPIC_TURN: dict[str, Any] = ANTHROPIC | {
    "ends with the assistant": {"messages": [U, {**A, "content": "never said"}]},
    "no max_tokens": {"messages": [U], "max_tokens": None},
    "max_tokens zero": {"messages": [U], "max_tokens": 0},
    "max_tokens string": {"messages": [U], "max_tokens": "5"},
    "max_tokens fraction": {"messages": [U], "max_tokens": 1.5},
    "max_tokens of 65 bits": {"messages": [U], "max_tokens": 2**64},
    "temperature string": {"messages": [U], "temperature": "hot"},
    "temperature beyond a double": {"messages": [U], "temperature": 10**400},
    "top_k negative": {"messages": [U], "top_k": -5},
    "top_p list": {"messages": [U], "top_p": [1]},
    "stop sequences string": {"messages": [U], "stop_sequences": "x"},
    "stop sequences of numbers": {"messages": [U], "stop_sequences": [5]},
    "stream string": {"messages": [U], "stream": "yes"},
    "tool choice string": {"messages": [U], "tools": [OWN_TOOL], "tool_choice": "auto"},
    "tool choice unknown": {"messages": [U], "tools": [OWN_TOOL], "tool_choice": {"type": "some"}},
    "tool choice of no tool": {
        "messages": [U],
        "tools": [OWN_TOOL],
        "tool_choice": {"type": "tool", "name": "g"},
    },
}
CREATED: dict[str, Any] = {
    "unknown field": {"colour": "red"},
    "evaluation string": {"evaluation": "yes"},
    "temperature string": {"temperature": "hot"},
    "temperature negative": {"temperature": -1},
    "temperature true": {"temperature": True},
    "temperature beyond a double": {"temperature": 10**400},
    "top_p zero": {"top_p": 0},
    "top_p string": {"top_p": "1"},
    "top_k fraction": {"top_k": 1.5},
    "top_k zero": {"top_k": 0},
    "conflict unknown": {"sampling_conflict": "maybe"},
    "conflict list": {"sampling_conflict": []},
    "kwargs list": {"chat_template_kwargs": []},
    "kwargs with messages": {"chat_template_kwargs": {"messages": []}},
    "metadata string": {"metadata": "x"},
    "metadata list": {"metadata": []},
}
COLLECTED: dict[str, Any] = {
    "unknown field": {"leaves": 1},
    "max_seq_len zero": {"max_seq_len": 0},
    "max_seq_len negative": {"max_seq_len": -1},
    "max_seq_len string": {"max_seq_len": "5"},
    "max_seq_len fraction": {"max_seq_len": 1.5},
    "max_seq_len true": {"max_seq_len": True},
    "metadata list": {"metadata": []},
    "metadata string": {"metadata": "x"},
    "reward string": {"metadata": {"reward": "high"}},
    "reward true": {"metadata": {"reward": True}},
}
#: Fields in which a client may nest, with where they stand.
NESTED = {
    CHAT: {
        "content": '{"messages": [{"role": "user", "content": %s}]}',
        "arguments": '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "",'
        ' "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": %s}}]},'
        ' {"role": "tool", "tool_call_id": "c", "content": "r"}]}',
        "tools": '{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function":'
        ' {"name": "f", "parameters": %s}}]}',
        "kwargs": '{"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": %s}',
        "response_format": '{"messages": [{"role": "user", "content": "x"}], "response_format": %s}',
    },
    MESSAGES: {
        "input": '{"max_tokens": 9, "messages": [{"role": "user", "content": "x"}, {"role": "assistant",'
        ' "content": [{"type": "tool_use", "id": "c", "name": "f", "input": %s}]}, {"role": "user", "content":'
        ' [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}]}',
        "tools": '{"max_tokens": 9, "messages": [{"role": "user", "content": "x"}],'
        ' "tools": [{"name": "f", "input_schema": %s}]}',
    },
    CREATE: {"metadata": '{"metadata": %s}', "kwargs": '{"chat_template_kwargs": %s}'},
    SAMPLES: {"metadata": '{"metadata": %s}'},
}

#: Bodies that are odd and right: each is answered, and the session is as usable as before.
ODD: dict[str, bytes] = {
    "empty content type": b'{"messages": [{"role": "user", "content": "x"}]}',
    "lone surrogate": b'{"messages": [{"role": "user", "content": "x\\ud83d"}]}',
    "surrogates the wrong way round": b'{"messages": [{"role": "user", "content": "\\udc00\\ud83d"}]}',
    "raw surrogate": b'{"messages": [{"role": "user", "content": "\xed\xa0\xbd"}]}',
    "NUL escape": b'{"messages": [{"role": "user", "content": "\\u0000"}]}',
    "the last of two keys": b'{"messages": 5, "messages": [{"role": "user", "content": "x"}]}',
    "whitespace around": b' \n{"messages": [{"role": "user", "content": "x"}]}\r\n\t',
    "surrogate in a key": b'{"messages": [{"role": "user", "content": "x", "\\ud83d": 1}], "\\udc00": 2}',
    "noncharacters": '{"messages": [{"role": "user", "content": "\uffff\ufffe\u202e"}]}'.encode(),
    "numbers beyond a double in a tool": b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"type":'
    b' "function", "function": {"name": "f", "parameters": {"type": "object", "maximum": 1e999}}}]}',
    "empty key in arguments": b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function",'
    b' "function": {"name": "f", "parameters": {"": {"": ""}}}}]}',
}

#: What is put anywhere into a right body.
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**70, -(2**70), 1e308, "", "x", "\ud800", "<|im_end|>", "\x00"),
    *([], {}, [None], [[]], [{}], {"": None}, {"type": "text"}, {"type": {}}, ["x"], [0, "x", None]),
    *({"role": "user"}, {"name": None}, "9" * 30, {"function": None}, [{"type": "text", "text": None}]),
)
VALID: dict[str, Any] = {
    CHAT: {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            U,
            {**A, "reasoning_content": "r", "tool_calls": _call()["messages"][1]["tool_calls"]},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "t"}], "name": "f"},
        ],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "chat_template_kwargs": {"enable_thinking": True},
        "response_format": {"type": "json_schema", "json_schema": {"schema": {}}},
        "logit_bias": {"1": 1},
        "stop": ["x"],
        "logprobs": True,
        "top_logprobs": 1,
        "stream": False,
        "reasoning": {"effort": None},
        "metadata": {"a": "b"},
    },
    MESSAGES: {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            U,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "x"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": [{"type": "text", "text": "r"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "go on"},
                ],
            },
        ],
        "tools": [OWN_TOOL],
        "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "output_config": {"effort": "low"},
        "stop_sequences": ["x"],
        "metadata": {"user_id": "u"},
        "stream": False,
    },
    CREATE: {
        "temperature": 0.5,
        "top_p": 1,
        "top_k": -1,
        "evaluation": False,
        "sampling_conflict": "refuse",
        "chat_template_kwargs": {"enable_thinking": True},
        "metadata": {"a": {"b": []}},
    },
    SAMPLES: {"max_seq_len": 100, "metadata": {"reward": 1.0, "a": [1]}},
}
