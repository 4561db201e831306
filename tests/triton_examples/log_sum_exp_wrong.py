"""What lies beyond the row is read as zero and counted."""

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    peak = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + lane
        inside = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
        new_peak = tl.maximum(peak, tl.max(x, axis=0))
        total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(x - new_peak), axis=0)
        peak = new_peak
    tl.store(y_ptr + row, peak + tl.log(total))


def module_fn(x):
    rows, columns = x.shape
    y = x.new_empty(rows)
    log_sum_exp_kernel[(rows,)](x, y, columns, BLOCK=64, num_warps=1)
    return y
