from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from hardalign.systems.ops.torch import LARGE_PRODUCT, linear


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("outputs", [1, LARGE_PRODUCT // (16 * 200)])
def test_products_and_gradients_of_every_size(outputs: int, with_bias: bool, cut: bool) -> None:
    torch.manual_seed(1)
    x = torch.randn(4, 5, 200, requires_grad=True)
    whole = torch.randn(outputs, 200 + 3 * cut, requires_grad=True)
    bias = torch.randn(outputs, requires_grad=True)
    inputs = (x, whole, bias) if with_bias else (x, whole)
    outer = torch.randn(4, 5, outputs)

    def results(product: torch.Tensor) -> list[torch.Tensor]:
        return [product, *torch.autograd.grad(product, inputs, outer)]

    arguments = (x, whole[:, 3 * cut :], bias if with_bias else None)
    expected = results(F.linear(*(one if one is None else one.double() for one in arguments)))  # type: ignore[arg-type]
    for one, exact in zip(results(linear(*arguments)), expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, exact.float(), rtol=1e-5, atol=1e-4)
