"""Writes a tiny random Qwen3 with the real Qwen3 vocabulary.  Run by the engine's Python.

make_tiny_qwen3.py OUT TOKENIZER_JSON CHAT_TEMPLATE

Two layers of width 64 in bfloat16.  The embeddings are as tall as Qwen3's (151,936 rows for 151,669 tokens)
and not tied, for tied ones make greedy decoding repeat the last token.
"""

import sys
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCAB_SIZE = 151_936
CONTEXT_LENGTH = 32_768
IM_END, END_OF_TEXT = 151_645, 151_643
SPECIAL_TOKENS = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}


def main(out: str, tokenizer_json: str, chat_template: str) -> None:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=tokenizer_json,
        **SPECIAL_TOKENS,
        model_max_length=CONTEXT_LENGTH,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = Path(chat_template).read_text(encoding="utf-8")
    assert tokenizer.convert_tokens_to_ids([*SPECIAL_TOKENS.values()]) == [IM_END, END_OF_TEXT]
    tokenizer.save_pretrained(out)
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config()).to(torch.bfloat16)
    model.generation_config.eos_token_id = [IM_END, END_OF_TEXT]
    model.save_pretrained(out)


def config() -> Qwen3Config:
    return Qwen3Config(
        vocab_size=VOCAB_SIZE,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT_LENGTH,
        tie_word_embeddings=False,
        eos_token_id=IM_END,
        pad_token_id=END_OF_TEXT,
        bos_token_id=END_OF_TEXT,
        dtype="bfloat16",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
