"""Lets torchvision be imported beside a CPU build of torch.

For the engine's interpreter only, by PYTHONPATH.  The registry's torchvision is built for the CUDA torch;
beside the CPU torch its compiled operators do not load, and it fails while it attaches metadata to them.  Here
two operators are declared, without any implementation, when torchvision is first looked for.  SGLang imports
torchvision for models with vision and does not call it in these tests.

The engine's own code runs unmodified.
"""

import sys

_DECLARATIONS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


class TorchvisionOperators:
    """A finder that finds nothing: it declares the operators on the way to the real torchvision."""

    library: object = None

    @classmethod
    def find_spec(cls, name: str, *_: object) -> None:
        if name == "torchvision" and cls.library is None:
            cls.library = cls._declared()

    @staticmethod
    def _declared() -> object:
        import torch

        library = torch.library.Library("torchvision", "FRAGMENT")
        if torch.version.cuda is None:
            for declaration in _DECLARATIONS:
                library.define(declaration)
        return library


sys.meta_path.insert(0, TorchvisionOperators)
