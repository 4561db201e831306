"""Puts kernels and host code together into one readable, self-contained module."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from kernelvault.agents.inductor.variants import Variant
from kernelvault.agents.inductor.writer.device_functions import helper_sources, plain_calls
from kernelvault.agents.inductor.writer.errors import UnsupportedError
from kernelvault.agents.inductor.writer.host import (
    Allocate,
    Define,
    Launch,
    View,
    Wrapper,
    is_dense,
    read_wrapper,
)
from kernelvault.agents.inductor.writer.kernels import Kernel, read_kernel, rename
from kernelvault.agents.inductor.writer.launch import plan

_WIDTH = 100
_PREFIX = re.compile(r"^triton_(?:poi|red|per|tem)_fused_?|^triton_")
_MAX_NAME = 40
# Operators that only move or convert say nothing about a kernel that does more.
_UNTELLING = re.compile(
    r"_(?:_to_copy|scalar_tensor|unsqueeze|squeeze|permute|expand|view|clone|where)(?=_|$)"
)
_VIEW = re.compile(r"^reinterpret_tensor\((\w+), .*, 0\)$")
_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)
_NOTE = (
    "Kernel code derives from Torch Inductor (PyTorch, BSD-3-Clause license, Copyright (c)"
    " Facebook, Inc. and its affiliates); host code and block sizes are chosen here."
)


@dataclass(frozen=True)
class Naming:
    """Readable names: of the inputs in signature order, and of symbols (theirs -> ours)."""

    title: str
    inputs: tuple[str, ...]
    symbols: Mapping[str, str]


def write(code: str, naming: Naming, variant: Variant) -> str:
    """The module's text; raises UnsupportedError for what cannot be expressed."""
    return _Module(read_wrapper(code), naming, variant).text()


class _Module:
    def __init__(self, wrapper: Wrapper, naming: Naming, variant: Variant) -> None:
        self._wrapper, self._naming, self._variant = wrapper, naming, variant
        self._names = {**naming.symbols, **dict(zip(wrapper.inputs, naming.inputs, strict=True))}
        for index, output in enumerate(dict.fromkeys(wrapper.outputs)):
            self._names[output] = "out" if len(wrapper.outputs) == 1 else f"out{index}"
        for step in reversed(wrapper.steps):
            # A buffer that takes the place of another is the same variable.
            if isinstance(step, Define) and step.value.startswith("buf"):
                self._names[step.value] = self._say(step.name)
        numels = [s.name for s in wrapper.steps if isinstance(s, Define) and _is_numel(s)]
        for place, name in enumerate(numels):
            short = name[name.rindex("_") + 1 :]
            self._names[name] = short if len(numels) == 1 else f"{short}_{place}"
        self._kernels: dict[str, Kernel] = {}
        self._helpers: dict[str, str] = {}
        self._dense = dict.fromkeys(wrapper.inputs, True)  # the layout of every domain

    def text(self) -> str:
        host = self._host()
        sections = [*self._helper_sections(), *map(_definition, self._kernels.values()), host]
        body = "\n\n\n".join(sections)
        libdevice = "from triton.language.extra import libdevice\n"
        imports = "import torch\nimport triton\nimport triton.language as tl\n"
        if "libdevice." in body:
            imports += libdevice
        note = textwrap.fill(_NOTE, _WIDTH - 1)
        return f'"""{self._naming.title}\n\n{note}\n"""\n\n{imports}\n\n{body}\n'

    def _helper_sections(self) -> list[str]:
        copied: dict[str, None] = {}
        for kernel in self._kernels.values():
            for text in (kernel.text, *(text for _, text in kernel.helpers)):
                copied.update(dict.fromkeys(helper_sources(text)))
        return [*copied, *self._helpers.values()]

    def _host(self) -> str:
        lines: list[str] = []
        for step in self._wrapper.steps:
            if isinstance(step, Allocate):
                lines += self._allocate(step)
            elif isinstance(step, View):
                lines += self._view(step)
            elif isinstance(step, Define):
                lines += self._define(step)
            else:
                lines += self._launch(step)
        if any(not self._dense.get(name, False) for name in self._wrapper.outputs):
            raise UnsupportedError("an output is not dense and row-major")
        outputs = ", ".join(self._say(name) for name in self._wrapper.outputs)
        lines.append(f"return {outputs}")
        head = f"def module_fn({', '.join(self._naming.inputs)}):"
        text = "\n".join([head, *(f"    {line}" for line in lines)])
        unknown = _unknown_names(text) - {kernel.name for kernel in self._kernels.values()}
        if unknown:
            raise UnsupportedError(f"the host code needs {sorted(unknown)[0]}")
        return text

    def _say(self, text: str) -> str:
        return rename(text, self._names)

    def _device(self) -> str:
        return f"{self._naming.inputs[0]}.device" if self._naming.inputs else '"cuda"'

    def _symbols(self) -> dict[str, int]:
        return dict(zip(self._naming.symbols, _PRIMES, strict=False))

    def _allocate(self, step: Allocate) -> list[str]:
        dense = is_dense(step.sizes, step.strides, self._symbols())
        self._dense[step.name] = dense
        sizes, strides = self._say(_tuple(step.sizes)), self._say(_tuple(step.strides))
        shape = sizes if dense else f"{sizes}, {strides}"
        function = "torch.empty" if dense else "torch.empty_strided"
        made = f"{function}({shape}, dtype={step.dtype}, device={self._device()})"
        return [f"{self._say(step.name)} = {made}"]

    def _view(self, step: View) -> list[str]:
        dense = is_dense(step.sizes, step.strides, self._symbols())
        self._dense[step.name] = dense and self._dense.get(step.base, False)
        name, base = self._say(step.name), self._say(step.base)
        sizes, strides = self._say(_tuple(step.sizes)), self._say(_tuple(step.strides))
        if self._dense[step.name] and step.offset == "0":
            return [f"{name} = {base}.view({sizes})"]
        if step.offset != "0":
            if not self._dense.get(step.base, False):
                raise UnsupportedError("a view into a buffer with gaps")
            # An offset given to as_strided would count from the storage's start.
            base = f"{base}.view(-1)[{self._say(step.offset)}:]"
        return [f"{name} = {base}.as_strided({sizes}, {strides})"]

    def _define(self, step: Define) -> list[str]:
        """Sizes are read from shapes; a buffer that takes the place of another gets its name."""
        if step.value.endswith(".size()"):
            base = step.value.removesuffix(".size()")
            self._names[step.name] = f"{self._say(base)}.shape"
            return []
        if step.value in self._dense:
            self._dense[step.name] = self._dense[step.value]
        name, value = self._say(step.name), self._say(step.value)
        return [] if name == value else [f"{name} = {value}"]

    def _launch(self, step: Launch) -> list[str]:
        kernel = self._kernel(step)
        count = len(kernel.parameters)
        given = dict(zip(kernel.parameters, step.arguments, strict=False))
        fixed = tuple(map(self._say, step.arguments[count:]))
        numels = {k: self._say(v) for k, v in given.items() if k.endswith("numel")}
        text = plan(kernel, numels, fixed, self._variant)
        shown = self._kernels[step.kernel]
        arguments = [self._argument(given[p]) for p in kernel.kept]
        arguments += [f"{name}={value}" for name, value in text.blocks]
        arguments += [f"num_warps={self._variant.num_warps}"]
        arguments += [f"num_stages={self._variant.num_stages}"]
        return [*text.before, *_call(f"{shown.name}[{text.grid}]", arguments)]

    def _argument(self, value: str) -> str:
        """A tensor or size as a launch gives it; a kernel sees only where a view begins."""
        view = _VIEW.match(value)
        if view is None and "(" in value and "reinterpret_tensor" in value:
            raise UnsupportedError("a kernel that reads a view with an offset")
        return self._say(view.group(1) if view else value)

    def _kernel(self, step: Launch) -> Kernel:
        """The kernel as read; the first launch settles how its parameters are called."""
        kernel = read_kernel(self._wrapper.kernels[step.kernel])
        if step.kernel not in self._kernels:
            names = {step.kernel: self._kernel_name(step.kernel)}
            given = dict(zip(kernel.parameters, step.arguments, strict=False))
            names.update(self._parameter_names(kernel, given))
            for name, _ in kernel.helpers:
                names[name] = f"combine_{len(self._helpers) + len(names)}"
            shown = kernel.renamed(names)
            self._helpers.update((name, plain_calls(text)) for name, text in shown.helpers)
            self._kernels[step.kernel] = shown
        return kernel

    def _kernel_name(self, given: str) -> str:
        """`triton_red_fused_mean_mul_0` becomes `mean_mul_kernel`; a second one is numbered."""
        operators = _PREFIX.sub("", given).rstrip("0123456789").strip("_")
        telling = _UNTELLING.sub("", f"_{operators}").strip("_") or operators or "fused"
        name = f"{telling[:_MAX_NAME].strip('_')}_kernel"
        taken = sum(kernel.name.startswith(name) for kernel in self._kernels.values())
        return f"{name}{taken + 1}" if taken else name

    def _parameter_names(self, kernel: Kernel, given: Mapping[str, str]) -> dict[str, str]:
        """`in_ptr0` becomes `x_ptr` where it is x that is read, `ks0` the symbol it stands for."""
        names: dict[str, str] = {}
        for parameter in kernel.kept:
            value = self._argument(given[parameter])
            if parameter.startswith("ks"):
                wanted = value if value in self._naming.symbols.values() else parameter
            elif parameter.endswith("numel") or not value.isidentifier():
                wanted = parameter
            else:
                wanted = f"{value}_ptr"
            taken = wanted in names.values() or re.search(rf"\b{wanted}\b", kernel.text)
            names[parameter] = parameter if taken else wanted
        return names


def _is_numel(step: Define) -> bool:
    return step.name.startswith("triton_") and step.name.endswith("numel")


def _unknown_names(function: str) -> set[str]:
    """Names that a function's text reads and never gets: constants of Inductor's own, say."""
    names = [node for node in ast.walk(ast.parse(function)) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    given = {node.arg for node in ast.walk(ast.parse(function)) if isinstance(node, ast.arg)}
    return {node.id for node in names} - made - given - {"torch", "triton", "min", "max"}


def _tuple(items: tuple[str, ...]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _call(function: str, arguments: list[str]) -> list[str]:
    """A call on one line where it fits, else its arguments on lines of their own."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH - 4:
        return [line]
    rows = [""]
    for argument in arguments:
        if rows[-1] and len(rows[-1]) + len(argument) + 2 > _WIDTH - 8:
            rows.append("")
        rows[-1] += f"{' ' if rows[-1] else ''}{argument},"
    return [f"{function}(", *(f"    {row}" for row in rows), ")"]


def _definition(kernel: Kernel) -> str:
    parameters = [*kernel.kept, *(f"{name}: tl.constexpr" for name in kernel.blocks)]
    head = _call(f"def {kernel.name}", parameters)
    decorator = "@triton.jit"
    if kernel.converted:
        names = ", ".join(f'"{name}"' for name in kernel.converted)
        decorator = f"# A size of 1 must stay a value, for it is converted.\n{decorator}"
        decorator += f"(do_not_specialize=[{names}])"
    return "\n".join([decorator, *head[:-1], f"{head[-1]}:", plain_calls(kernel.text)])
