"""Hostile and wrong Triton sources: each is rejected, and by the rule that names its fault."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelvault.verification import static_triton

BASE = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.language.extra import libdevice
#TOP

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    #KERNEL
    tl.store(y_ptr + offs, x, mask=offs < n)


def module_fn(x):
    y = torch.empty_like(x)
    n = x.numel()
    #HOST
    kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
"""


def at_top(code: str) -> str:
    return BASE.replace("#TOP", code)


def in_host(code: str) -> str:
    return BASE.replace("#HOST", code.replace("\n", "\n    "))


def in_kernel(code: str) -> str:
    return BASE.replace("#KERNEL", code.replace("\n", "\n    "))


def rejects(source: str, inputs: int = 1, scalars: int = 0) -> set[str]:
    found = static_triton.parse_findings(source, inputs, scalars)
    return {f.rule for f in found if f.severity == "reject"}


def test_the_base_of_the_table_passes() -> None:
    assert static_triton.parse_findings(BASE, 1, 0) == ()


TEXT = [
    ("", "missing_module_fn"),
    ("def module_fn(x:\n", "syntax"),
    (BASE + "\0", "not_text"),
    (BASE + "# \ud800", "not_text"),
    ("# coding: utf-7\n" + BASE, "not_text"),
    ("\n# -*- coding: latin-1 -*-" + BASE, "not_text"),
    ("\ufeff" + BASE, "not_text"),
    (BASE + "#\r x\n", "not_text"),
    (BASE + "#\x0c x\n", "not_text"),
    (BASE + "# " + "x" * 300_000, "source_too_large"),
    (at_top("X = f'" + "{a}" * 6000 + "'"), "source_too_large"),
    (at_top("X = " + "(" * 150 + "1" + ")" * 150 + "[0]" * 130), "too_deep"),
    (at_top("X = " + "(" * 5000 + ")" * 5000), "syntax"),
    (at_top("X = " + "-" * 100_000 + "1"), "syntax"),
    (at_top("X = " + "+".join("1" * 300)), "too_deep"),
    (at_top("X = " + "+".join("1" * 20_000)), "syntax"),
    (at_top("X = a" + ".b" * 50_000), "syntax"),
    (at_top("X = " + "9" * 10_000), "syntax"),
]

TOP = [
    ("class Store(nn.Module):\n    values = []", "state"),
    ("import os", "import"),
    ("import numpy as np", "import"),
    ("import functools", "import"),
    ("import torch._inductor", "import"),
    ("import triton.testing", "import"),
    ("from . import sibling", "import"),
    ("from os import path", "import"),
    ("from torch import compile", "import"),
    ("from torch import *", "import"),
    ("from triton.language import *", "import"),
    ("from triton.language.core import builtins", "import"),
    ("from triton.runtime import JITFunction", "import"),
    ("from typing import get_type_hints", "import"),
    ("import math as torch", "rebinding"),
    ("eval = 1", "rebinding"),
    ("def kernel_2(): pass\nkernel_2 = 3", "rebinding"),
    ("print('hello')", "module_level"),
    ("X = torch.zeros(4)", "module_level"),
    ("X = torch.compile(abs)", "module_level"),
    ("for i in range(3): pass", "module_level"),
    ("try:\n    X = 1\nfinally:\n    pass", "module_level"),
    ("if True:\n    X = 1", "module_level"),
    ("if __name__ == '__main__':\n    pass\nelse:\n    X = 1", "module_level"),
    ("torch.empty = torch.zeros", "state"),
    ("F.relu.memo = 1", "state"),
    ("__name__ = '__main__'", "dunder"),
    ("X = ().__class__", "dunder"),
    ("X = eval('1')", "forbidden_builtin"),
    ("X = [eval('1'), (eval := 2)]", "rebinding"),
    ("X = (y := 2)", "module_level"),
    ("X: print('hello') = 1", "module_level"),
    ("X: print('hello')", "module_level"),
    ("class A(nn.Module):\n    x: print('hello') = 1", "module_level"),
    (
        "class A(nn.Module):\n    @torch.no_grad(print('hello'))\n    def f(self): pass",
        "module_level",
    ),
    ("X = lambda: eval", "forbidden_builtin"),
    ("async def f(): pass", "module_level"),
    ("def f(x, memo={}): return memo", "mutable_default"),
    ("def f(x, memo=dict()): return memo", "mutable_default"),
    ("KEPT = {}\ndef f(x, memo=KEPT): return memo", "mutable_default"),
    ("@torch.compile\ndef f(x): return x", "decorator"),
    ("@torch.compile(mode='x')\nclass A(nn.Module): pass", "decorator"),
    ("class A(nn.Module, metaclass=M): pass", "decorator"),
    ("class A(nn.Module):\n    def state_dict(self): return {}", "harness_access"),
    ("class A(nn.Module):\n    def __getattr__(self, n): return 1", "harness_access"),
    ("class A(nn.Module):\n    @staticmethod\n    def __init__(self): pass", "decorator"),
    ("class A(nn.Module):\n    import os", "module_level"),
    ("class A(print('hello')): pass", "module_level"),
    ("def f(x: print('hello')): pass", "module_level"),
    ("def f(x) -> torch.randn(3): pass", "module_level"),
    ("def f(x, y=torch.randn(3)): pass", "mutable_default"),
    ("@triton.jit\ndef k(x):\n    def inner(): pass", "nested_function"),
    ('@triton.jit\ndef k(x):\n    """\n    def evil(x):\n    """', "kernel_text"),
    ('@triton.jit\ndef \\\nk(x):\n    """\ndef evil(x):\n    pass\n"""', "kernel_text"),
    (
        "@triton.autotune([], key=['''\ndef evil(x): pass\n'''])\n@triton.jit\ndef k(x): pass",
        "kernel_text",
    ),
    ("C = triton.Config({}, num_ctas=2)", "num_ctas"),
    ("C = triton.Config({'num_ctas': 4})", "num_ctas"),
    ("def f():\n    global X\n    X = 1", "state"),
    ("def f():\n    x = 0\n    def g():\n        nonlocal x\n        x = 1\n    g()", "state"),
]

HOST = [
    ("import os", "import"),
    ("eval('1')", "forbidden_builtin"),
    ("exec('1')", "forbidden_builtin"),
    ("open('/etc/passwd')", "forbidden_builtin"),
    ("getattr(x, 'sum')()", "forbidden_builtin"),
    ("setattr(kernel, 'memo', x)", "forbidden_builtin"),
    ("globals()['torch']", "forbidden_builtin"),
    ("type(x)", "forbidden_builtin"),
    ("f = [ｅval for _ in range(1)]", "forbidden_builtin"),
    ("[eval for eval in range(1)]; eval('1')", "rebinding"),
    ("[torch for torch in range(1)]", "rebinding"),
    ("torch = x", "rebinding"),
    ("f = lambda np: 1\nnp.split('f')", "undefined_name"),
    ("f = lambda: (np := 1)\nnp.split('f')", "undefined_name"),
    ("f = lambda x=np: 1", "undefined_name"),
    ("f = lambda: (eval := 1)\neval('1')", "rebinding"),
    ("y = [k for k in (1,)][0].__class__", "dunder"),
    ("y = x.__dict__", "dunder"),
    ("y = x.__ｄict__", "dunder"),
    ("y = __builtins__", "dunder"),
    ("y = module_fn.__globals__", "dunder"),
    ("y = x._base", "private_attribute"),
    ("y = (a for a in (1,)).gi_frame", "frame_attribute"),
    ("y = x.f_back", "frame_attribute"),
    ("y = module_fn.func_globals", "frame_attribute"),
    ("y = '{0.x}'.format(x)", "attribute"),
    ("y = np.sum(x)", "undefined_name"),
    ("t = torch", "tensor_compute"),
    ("m = math", "harness_access"),
    ("torch.empty = y", "state"),
    ("module_fn.memo = y", "state"),
    ("kernel.memo = y", "state"),
    ("kernel.cache", "kernel_internals"),
    ("kernel.run(x, grid=(1,))", "kernel_internals"),
    ("used = kernel[(1,)](x, y, n, BLOCK=256)", "launch_value"),
    ("if kernel[(1,)](x, y, n, BLOCK=256) is None:\n    n = 1", "launch_value"),
    ("if isinstance(x, torch.FloatTensor):\n    n = 1", "tensor_compute"),
    ('n = n if "JIT" in f"{kernel}" else 1', "text_of_object"),
    ("n = n if 'space' in str(torch.cuda.get_device_properties(0)) else 1", "text_of_object"),
    ("n = n if 'JIT' in '%s' % kernel else 1", "text_of_object"),
    ("kept = []\npush = kept.append\npush(n)", "state"),
    ("kernel[lambda meta: (meta.update(BLOCK=1), 1)[1:]](x, y, n, BLOCK=256)", "state"),
    ("kernel.warmup(x, grid=(1,))", "kernel_internals"),
    ("y = torch.matmul(x, x)", "tensor_compute"),
    ("y = torch.softmax(x, -1)", "tensor_compute"),
    ("y = F.relu(x)", "tensor_compute"),
    ("y = torch.ops.aten.relu(x)", "tensor_compute"),
    ("y = torch.compile(module_fn)(x)", "tensor_compute"),
    ("y = x @ x", "tensor_compute"),
    ("y = x.sum(-1)", "tensor_compute"),
    ("y.copy_(x)", "tensor_compute"),
    ("y.add_(x)", "tensor_compute"),
    ("y = x.to(torch.float16)", "tensor_compute"),
    ("y = x.to(x.dtype)", "tensor_compute"),
    ("y = x.to(x.device, torch.float16)", "tensor_compute"),
    ("y = x.half()", "tensor_compute"),
    ("y = x.type(torch.float16)", "tensor_compute"),
    ("y = torch.Tensor.add(x, x)", "tensor_compute"),
    ("y = torch.Tensor.max(x)", "tensor_compute"),
    ("y = x.max(-1)", "tensor_compute"),
    ("n = x[0].item()", "host_data"),
    ("n = x.tolist()", "host_data"),
    ("y = x.cpu()", "host_data"),
    ("n = x.data_ptr()", "host_data"),
    ("s = torch.cuda.Stream()", "other_stream"),
    ("with torch.cuda.stream(s):\n    pass", "other_stream"),
    ("s = torch.cuda.current_stream()", "other_stream"),
    ("torch.cuda.synchronize()", "timing"),
    ("e = torch.cuda.Event()", "timing"),
    ("triton.testing.do_bench(module_fn)", "timing"),
    ("g = torch.cuda.CUDAGraph()", "graph_replay"),
    ("torch.cuda.graph(1)", "graph_replay"),
    ("torch._C._jit_clear_class_registry()", "dunder"),
    ("torch.utils.data", "harness_access"),
    ("torch.set_default_device('cpu')", "harness_access"),
    ("torch.load('x')", "harness_access"),
    ("triton.compile(kernel)", "harness_access"),
    ("triton.knobs.runtime", "harness_access"),
    ("triton.set_allocator(abs)", "harness_access"),
    ("kernel[(1,)](x, y, n, BLOCK=1, extern_libs={'a': '/b'})", "harness_access"),
    ("kernel[(1,)](x, y, n, BLOCK=1, **{'extern_libs': 1})", "harness_access"),
    ("kernel[(1,)](x, y, n, BLOCK=1, num_ctas=2)", "num_ctas"),
    ("try:\n    y = x\nexcept Exception:\n    y = x", "fallback"),
    ("with open('x') as f:\n    pass", "with"),
    ("yield x", "syntax_not_allowed"),
    ("match x:\n    case object(shape=s):\n        pass", "syntax_not_allowed"),
    ("class A: pass", "syntax_not_allowed"),
    ("del x.shape", "state"),
    ("super().__init__()", "dunder"),
    ("y.requires_grad = True", "state"),
]

STATE = [
    "KEPT[0] = y",
    "KEPT.append(y)",
    "k = KEPT\nk.append(y)",
    "k = KEPT[0]\nk.append(y)",
    "k = KEPT[0]\nk += [y]",
    "a, b = 1, KEPT[0]\nb.append(y)",
    "c = b\nb = a\na = KEPT[0]\nc.append(y)",
    "for k in KEPT:\n    k.append(y)",
    "[k.append(y) for k in KEPT]",
    "(KEPT if n else [])[0] = y",
    "box = []\nbox.append(KEPT)",
    "def put():\n    KEPT.append(y)\nput()",
    "put = lambda: KEPT.append(y)",
    "del KEPT[0]",
    "keep(KEPT, y)",
]

KERNEL = [
    ("x = eval('1')", "forbidden_builtin"),
    ("x = x.handle", "attribute"),
    ("y = [np for np in (1,)]\nx = np.load('f')", "undefined_name"),
    ("y = [0 for np in np.load('f')]", "undefined_name"),
    ("y = [eval for eval in (1,)]\neval('1')", "rebinding"),
    ("x = x.__class__", "dunder"),
    ("x = tl.core.builtins", "no_such_triton_name"),
    ("x = tl.tanh(x)", "no_such_triton_name"),
    ("x = tl.math.tanh(x)", "no_such_triton_name"),
    ("x = tl.math.core", "no_such_triton_name"),
    ("x = np.sum(x)", "undefined_name"),
    ("x = libdevice.normcdf(x)", "no_such_libdevice"),
    ("x = tl.extra.hip.libdevice.cbrt(x)", "no_such_libdevice"),
    ("x = tl.extra.cuda.libdevice.tanh(x)", "cuda_only"),
    ("x = tl.extra.cuda.num_warps()", "cuda_only"),
    ("x = tl.extra.cuda.globaltimer()", "timing"),
    ("x = tl.extra.cuda.smid()", "timing"),
    (
        "x = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x], tl.int32, True, 1)",
        "ptx_assembly",
    ),
    (
        "x = tl.inline_asm_elementwise('v_mov_b32 $0, $1', '=v,v', [x], tl.int32, True, 1)",
        "inline_assembly",
    ),
    ("asm = tl.inline_asm_elementwise", "inline_assembly"),
    ("x.dtype = 1", "state"),
    ("x[0] = 1", "state"),
    ("try:\n    x = x\nfinally:\n    x = x", "fallback"),
    ("with x:\n    pass", "syntax_not_allowed"),
    ("f = lambda a: a", "syntax_not_allowed"),
    ("import os", "import"),
    ("x = torch.relu(x)", "tensor_compute"),
]

MODEL = """
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.kept = {}

    def forward(self, x):
        #FORWARD
        return module_fn(x)
"""

INIT = [
    ("self = torch.Tensor\n        self.to = abs", "rebinding"),
    ("for self in (torch.Tensor,):\n            self.to = abs", "rebinding"),
    ("def f(self):\n            self.to = abs\n        f(torch.Tensor)", "rebinding"),
    ("[self for self in (torch.Tensor,)]", "rebinding"),
    ("(lambda self: 1)(torch.Tensor)", "rebinding"),
    ("self.t = torch.Tensor\n        self.t.to = abs", "state"),
    ("self.k = kernel\n        self.k.pre_run_hooks.append(abs)", "kernel_internals"),
    ("self.fn = kernel\n        self.k = self.fn.fn", "kernel_internals"),
    ("self.linear.register_forward_hook(abs)", "attribute"),
    ("KEPT[0] = self", "state"),
    ("torch.empty = self", "state"),
    ("torch.load('x')", "harness_access"),
]

FORWARD = [
    ("x = self.linear(x)", "tensor_compute"),
    ("x = self.linear.forward(x)", "tensor_compute"),
    ("self.y = x", "state"),
    ("self.kept[0] = x", "state"),
    ("k = self.kept\n        k[0] = x", "state"),
    ("self.kept.setdefault(0, x)", "state"),
    ("self.register_forward_hook(abs)", "attribute"),
    ("self._buffers", "attribute"),
    ("x = nn.Linear(4, 4)", "tensor_compute"),
    ("x = torch.randn(4)", "tensor_compute"),
]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        *TEXT,
        *((at_top(code), rule) for code, rule in TOP),
        *((in_host(code), rule) for code, rule in HOST),
        *(
            (at_top("KEPT = [[]]\n").replace("#HOST", c.replace("\n", "\n    ")), "state")
            for c in STATE
        ),
        *((in_kernel(code), rule) for code, rule in KERNEL),
        *((BASE + MODEL.replace("#FORWARD", code), rule) for code, rule in FORWARD),
        *(
            (at_top("KEPT = {}\n") + MODEL.replace("self.kept = {}", code), rule)
            for code, rule in INIT
        ),
    ],
    ids=lambda value: None if len(value) > 40 else value,
)
def test_rejected_by_the_rule_that_names_the_fault(source: str, rule: str) -> None:
    assert rule in rejects(source)


@pytest.mark.parametrize(
    ("parameters", "inputs", "scalars", "fits"),
    [
        ("x", 1, 0, True),
        ("x", 1, 2, True),
        ("x, a, b", 1, 2, True),
        ("x, a=1, b=2, c=3", 1, 2, True),
        ("*xs", 5, 1, True),
        ("x, *, flag=True", 1, 0, True),
        ("x, a", 1, 2, False),
        ("x, a", 1, 0, False),
        ("", 1, 0, False),
        ("x, *, flag", 1, 0, False),
        ("x, y, *rest", 1, 0, False),
    ],
)
def test_the_signature_takes_the_tensors_or_these_and_the_scalars(
    parameters: str, inputs: int, scalars: int, fits: bool
) -> None:
    source = BASE.replace("module_fn(x)", f"module_fn({parameters})")
    assert ("module_fn_signature" not in rejects(source, inputs, scalars)) == fits


def test_the_message_of_a_signature_names_both_numbers() -> None:
    source = BASE.replace("module_fn(x)", "module_fn(x, a)")
    found = static_triton.parse_findings(source, 3, 2)
    (message,) = [f.message for f in found if f.rule == "module_fn_signature"]
    assert "takes 2 to 2" in message
    assert "3 tensors, or these and 2 scalars (5 in all)" in message


def test_a_launch_must_be_reachable() -> None:
    launch = "kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)"
    bare = BASE.replace(launch, "pass")
    assert "no_launch" in rejects(bare)
    assert "no_launch" in rejects(bare + f"\n\ndef other(x, y, n):\n    {launch}\n")
    helped = BASE.replace(launch, "other(x, y, n)")
    assert rejects(helped + f"\n\ndef other(x, y, n):\n    {launch}\n") == set()


def test_a_model_that_only_keeps_weights_passes() -> None:
    assert rejects(BASE + MODEL.replace("#FORWARD", "w = self.linear.weight")) == set()


def test_methods_of_the_model_may_have_any_plain_name() -> None:
    method = "\n    def insert(self, x):\n        return x\n"
    code = "layer = self.linear\n        w = self.insert(layer.weight)"
    assert rejects(BASE + MODEL.replace("#FORWARD", code) + method) == set()


def test_odd_strings_and_print_are_suspicious_only() -> None:
    source = in_host(f"print('{'QUJD' * 100}')")
    found = {(f.rule, f.severity) for f in static_triton.parse_findings(source, 1, 0)}
    assert found == {("odd_string", "suspicious"), ("print", "suspicious")}


_TOKENS = st.sampled_from(
    """import torch def class @triton.jit lambda x: ( ) [ ] { } , . = == : \n \n\x20\x20\x20\x20
    module_fn kernel[grid](x) for in if else self.x *args **kw f"{x!r}" 'a' 1e999 0x1 __x__ async
    with yield match case := -> del \\ # ; try: except:""".split(" ")
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.lists(_TOKENS).map(" ".join), st.lists(_TOKENS).map("".join)))
def test_any_text_gives_findings(text: str) -> None:
    for source in (text, in_host(text), at_top(text), in_kernel(text)):
        static_triton.evidence(static_triton.parse_findings(source, 1, 1))
