"""A small client of the session server: sessions in, samples as NumPy arrays and torch tensors out."""

from titocli.client.arrays import Sample, SampleBatch, TorchSample
from titocli.client.asynchronous import AsyncClient, AsyncSession
from titocli.client.synchronous import Client, ClientSession

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "Client",
    "ClientSession",
    "Sample",
    "SampleBatch",
    "TorchSample",
]
