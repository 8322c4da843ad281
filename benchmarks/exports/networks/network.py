"""A network of the list: how it is made and what it is called with."""

import dataclasses
import typing

import torch


@dataclasses.dataclass
class Sample:
    """A module with the arguments of one call.

    `inputs` are in the order of the module's parameters and are passed by name. `dynamic` has, for
    each input with dimensions that a dynamic export leaves open, their names by position.
    """

    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]
    dynamic: dict[str, dict[int, str]]


@dataclasses.dataclass(frozen=True)
class Network:
    """`build(batch, steps)` makes a sample; networks without sequences ignore the steps."""

    name: str
    library: str
    build: typing.Callable[[int, int], Sample]


def image_input(batch, size, channels=3, name="x"):
    return {name: torch.randn(batch, channels, size, size)}


def images(module, batch, size, channels=3, name="x"):
    """A module that takes one batch of square images."""
    return Sample(module, image_input(batch, size, channels, name), {name: {0: "batch"}})


def spread_statistics(module):
    """Gives running statistics of batch norms the values that training would: not 0 and 1, so that
    an export that mixes them up is seen."""
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
            torch.nn.init.normal_(part.running_mean, std=0.1)
            torch.nn.init.uniform_(part.running_var, 0.5, 1.5)
    return module
