"""``titocli samples``: the training samples of a session that a server holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from titocli.report.result import Result
from titocli.wire.sample_format_names import SampleFormat

EXAMPLES = """
titocli samples $SESSION_URL  # one JSON line a sample
titocli samples $SESSION_URL --output samples.safetensors  # the format follows from the name
titocli samples $SESSION_URL --json --max-seq-len 4096
titocli samples $SESSION_URL --metadata agent.json --output samples.jsonl  # {"reward": 1.0} for each sample
"""


def samples(
    session_url: Annotated[
        str,
        typer.Argument(
            metavar="SESSION_URL",
            help="The session's base URL: http://HOST:PORT/sessions/ID.",
            show_default=False,
        ),
    ],
    *,
    max_seq_len: Annotated[
        int | None,
        typer.Option(
            "--max-seq-len",
            min=1,
            metavar="N",
            help="The most ids of a sample; the server's own limit otherwise.",
            rich_help_panel="Samples",
        ),
    ] = None,
    metadata: Annotated[
        str | None,
        typer.Option(
            "--metadata",
            metavar="FILE|-",
            help="A JSON object that is merged into each sample's metadata; its reward becomes theirs.",
            rich_help_panel="Samples",
        ),
    ] = None,
    form: Annotated[
        SampleFormat | None,
        typer.Option(
            "--format", help="Default: by the name of --output, else jsonl.", rich_help_panel="Output"
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The same as --format json.", rich_help_panel="Output")
    ] = False,
    output: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the samples go.", rich_help_panel="Output")
    ] = "-",
    api_key_env: Annotated[
        str | None,
        typer.Option(
            "--api-key-env",
            metavar="NAME",
            help="The environment variable with the server's API key.",
            rich_help_panel="Server",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.001, help="Seconds for the answer.", rich_help_panel="Server"),
    ] = 120.0,
) -> Result:
    """Fetch the training samples of a session: ids, loss mask, log-probs, status, metadata."""
    destination = None if output == "-" else Path(output)
    # Here, for the HTTP client is only loaded to fetch.
    from titocli.cli.sample_fetch import SampleFetch, chosen_sample_format, fetched_samples

    return fetched_samples(
        SampleFetch(
            session_url=session_url,
            wanted=chosen_sample_format(
                form,
                json_asked=as_json,
                output=destination,
                on_terminal=destination is None and sys.stdout.isatty(),
            ),
            output=destination,
            max_seq_len=max_seq_len,
            metadata=metadata,
            api_key_env=api_key_env,
            timeout_seconds=timeout,
        )
    )


__all__ = ["EXAMPLES", "samples"]
