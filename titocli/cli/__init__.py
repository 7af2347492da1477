"""Typer commands: parse, call one function below, return a result; nothing else."""
