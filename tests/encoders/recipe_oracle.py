"""Encodes chats with DeepSeek's reference encoder, ``deepseek-recipe``, for comparison.

A program of its own: the package is compiled code.  It is given the folder that holds the package.  One JSON
request a line on stdin, ``{model, body}``; one JSON answer a line on stdout, ``{text}`` or ``{error}``.
"""

import json
import sys


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    import deepseek_recipe as recipe

    encodings = {
        "DeepSeek-V4-Pro": recipe.DeepseekV4Encoding(),
        "DeepSeek-V4.1-Flash": recipe.DeepseekV41Encoding(),
    }
    for line in sys.stdin:
        body = json.loads(line)
        try:
            asked = recipe.ChatCompletionRequest(body).convert(recipe.ConversionOptions())
            answer = {"text": encodings[body["model"]].render_conversation(asked.conversation).prompt}
        except recipe.ConversionError as error:
            answer = {"error": error.body}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
