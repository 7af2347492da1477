"""The Typer commands: parse, call one function of a lower layer, return a result; nothing else."""
