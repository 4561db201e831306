"""The comparison: what it must accept, what it must see, and where it points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelvault.spec.preset import BASIC, Tolerance
from kernelvault.spec.tensor import Tensor
from kernelvault.verification import compare as module
from kernelvault.verification.compare import compare

FLOAT32 = BASIC.tolerance("float32")


def tensor(values: object, dtype: str = "float32") -> Tensor:
    array = np.asarray(values)
    if dtype == "bfloat16":
        bits = array.astype(np.float32).view(np.uint32)
        return Tensor(dtype, (bits >> 16).astype("<u2"))
    return Tensor(dtype, array.astype({"float32": "<f4", "float16": "<f2", "int64": "<i8"}[dtype]))


def wide(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50))
def test_pytorchs_own_result_always_passes(values: list[float]) -> None:
    native = tensor(values)
    found = compare(native, wide(values), native, FLOAT32)
    assert found.mismatches == 0
    assert found.elements == len(values)


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=40).filter(
        lambda v: max(map(abs, v)) > 1e-3
    ),
    st.data(),
)
def test_one_element_off_by_a_percent_of_the_scale_is_found_there(
    values: list[float], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(values) - 1))
    wrong = np.asarray(values, dtype=np.float32)
    wrong[at] += 0.05 * np.abs(wrong).max()
    found = compare(tensor(wrong), wide(values), tensor(values), FLOAT32)
    assert found.mismatches == 1
    assert found.first is not None
    assert found.first["at"] == [at]
    assert found.first == found.worst


def test_zeros_do_not_pass_for_small_outputs() -> None:
    values = [1e-7, -2e-7, 3e-7]
    assert compare(tensor([0, 0, 0]), wide(values), tensor(values), FLOAT32).mismatches == 3


def test_tolerance_grows_with_pytorchs_own_error() -> None:
    exact, own = wide([1.0, 2.0]), tensor([1.0, 2.01])
    assert compare(tensor([1.0, 1.97]), exact, own, FLOAT32).mismatches == 0
    assert compare(tensor([1.0, 1.90]), exact, own, FLOAT32).mismatches == 1


@pytest.mark.parametrize("actual", [np.nan, np.inf, -np.inf])
def test_special_values_never_match_numbers(actual: float) -> None:
    found = compare(tensor([actual, 1.0]), wide([1.0, 1.0]), tensor([1.0, 1.0]), FLOAT32)
    assert (found.mismatches, found.nonfinite_mismatches) == (1, 1)
    assert found.first is not None
    assert found.first["actual"] in ("nan", "inf", "-inf")


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_must_match_in_place(special: float) -> None:
    expected = wide([special, 1.0])
    native = tensor([special, 1.0])
    assert compare(native, expected, native, FLOAT32).mismatches == 0
    assert compare(tensor([1.0, special]), expected, native, FLOAT32).mismatches == 2
    assert compare(tensor([-special, 1.0]), expected, native, FLOAT32).mismatches == (
        0 if np.isnan(special) else 1
    )


def test_an_overflow_that_pytorch_shares_is_right() -> None:
    native = tensor([np.inf, 1.0], "float16")
    found = compare(native, wide([70000.0, 1.0]), native, BASIC.tolerance("float16"))
    assert found.mismatches == 0


def test_integers_must_be_equal_even_above_2_to_53() -> None:
    big = 2**53 + 1
    native = tensor([big, 5], "int64")
    exact = np.asarray([big, 5])
    assert compare(native, exact, native, BASIC.tolerance("int64")).mismatches == 0
    found = compare(tensor([big - 1, 5], "int64"), exact, native, BASIC.tolerance("int64"))
    assert found.mismatches == 1


def test_bfloat16_is_widened_not_read_as_bits() -> None:
    values = [1.0, -2.5, 100.0]
    native = tensor(values, "bfloat16")
    assert compare(native, wide(values), native, BASIC.tolerance("bfloat16")).mismatches == 0
    other = tensor([1.0, -2.5, 110.0], "bfloat16")
    assert compare(other, wide(values), native, BASIC.tolerance("bfloat16")).mismatches == 1


def test_scalars_and_chunk_borders() -> None:
    one = tensor(3.0)
    assert compare(one, wide(3.0), one, FLOAT32).elements == 1
    size = module.CHUNK + 3
    values = np.linspace(-1, 1, size, dtype=np.float32)
    wrong = values.copy()
    wrong[-1] += 1
    found = compare(tensor(wrong), wide(values), tensor(values), FLOAT32)
    assert found.mismatches == 1
    assert found.first is not None
    assert found.first["at"] == [size - 1]


def test_unequal_shapes_or_dtypes_are_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="against"):
        compare(tensor([1.0]), wide([1.0, 2.0]), tensor([1.0, 2.0]), FLOAT32)
    with pytest.raises(ValueError, match="against"):
        compare(tensor([1.0]), wide([1.0]), tensor([1.0], "float16"), Tolerance("x", 0, 0, 0))
