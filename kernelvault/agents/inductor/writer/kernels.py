"""Reads one generated kernel and leaves what a plain `@triton.jit` function needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelvault.agents.inductor.writer.errors import UnsupportedError

_KINDS = ("pointwise", "reduction", "persistent_reduction", "template")
_GRIDS = ("Grid1D", "Grid2D", "Grid2DWithYZOverflow", "FixedGrid")
_EFFECTS = ("store", "atomic", "print", "assert", "barrier")


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    parameters: those that a launch gives by position, in order; `kept` are the ones still used.
    blocks: constexpr parameters, given by name. body: lines, indented by four blanks.
    helpers: other jit functions of the kernel's text, name -> source.
    """

    name: str
    kind: str
    grid: str
    inner: bool
    parameters: tuple[str, ...]
    kept: tuple[str, ...]
    blocks: tuple[str, ...]
    body: tuple[str, ...]
    helpers: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(self.body)

    @property
    def converted(self) -> tuple[str, ...]:
        """Sizes on which the body calls `.to`: Triton makes a size of 1 a constant without it."""
        found: set[str] = set()
        for node in ast.walk(_parse(list(self.body))):
            if isinstance(node, ast.Attribute) and node.attr == "to":
                names = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
                found |= names if names <= set(self.kept) else set()
        return tuple(name for name in self.kept if name in found)

    def renamed(self, names: Mapping[str, str]) -> Kernel:
        """The same kernel with variables, helpers and the kernel itself called otherwise."""

        def swap(text: str) -> str:
            return rename(text, names)

        return replace(
            self,
            name=swap(self.name),
            kept=tuple(map(swap, self.kept)),
            body=tuple(map(swap, self.body)),
            helpers=tuple((swap(name), swap(text)) for name, text in self.helpers),
        )


def rename(text: str, names: Mapping[str, str]) -> str:
    """`text` with whole names replaced, attributes (`tl.sum`) left alone."""
    if not names:
        return text
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![\w.])({known})(?!\w)", lambda match: names[match.group()], text)


def read_kernel(source: str) -> Kernel:
    """The kernel of one `async_compile.triton` text; raises UnsupportedError for unknown kinds."""
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    function = functions[-1]
    kind, grid, hint = _decoration(function)
    if kind not in _KINDS or grid not in _GRIDS:
        raise UnsupportedError(f"a kernel of kind {kind} on {grid}")
    lines = source.splitlines()
    positional = [a.arg for a in function.args.args if a.annotation is None]
    blocks = [a.arg for a in function.args.args if a.annotation is not None]
    body = lines[function.body[0].lineno - 1 : function.end_lineno]
    if kind == "persistent_reduction" and "r0_numel" not in _assigned(body):
        # The row's length is open: the host gives the block that holds it.
        body = [line for line in body if not line.lstrip().startswith("R0_BLOCK: tl.constexpr")]
        blocks.append("R0_BLOCK")
    body = _without_dead(body)
    fixed, used = _assigned(body), _loaded(body)
    kept = [name for name in positional if name in used and name not in fixed]
    return Kernel(
        name=function.name,
        kind=kind,
        grid=grid,
        inner="INNER" in hint,
        parameters=tuple(positional),
        kept=tuple(kept),
        blocks=tuple(blocks),
        body=tuple(body),
        helpers=tuple((f.name, _text(f, lines)) for f in functions[:-1]),
    )


def _text(function: ast.FunctionDef, lines: list[str]) -> str:
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    return "\n".join(lines[first - 1 : function.end_lineno])


def _decoration(function: ast.FunctionDef) -> tuple[str, str, str]:
    """(kind, grid type, reduction hint) from the decorator that Inductor puts on its kernels."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute):
            given = {k.arg: k.value for k in decorator.keywords}
            grid = ""
            meta = given.get("inductor_meta")
            if isinstance(meta, ast.Dict):
                for key, value in zip(meta.keys, meta.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "grid_type":
                        grid = str(ast.literal_eval(value))
            hint = given.get("reduction_hint")
            return decorator.func.attr, grid, ast.unparse(hint) if hint else ""
    raise UnsupportedError(f"{function.name} is no kernel of a known kind")


def _parse(body: list[str]) -> ast.Module:
    return ast.parse("def f():\n" + "\n".join(body))


def _assigned(body: list[str]) -> set[str]:
    """Names given a value at the top of a kernel's body."""
    function = _parse(body).body[0]
    assert isinstance(function, ast.FunctionDef)
    found = set()
    for statement in function.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found.add(statement.targets[0].id)
    return found


def _loaded(body: list[str]) -> set[str]:
    return {
        node.id
        for node in ast.walk(_parse(body))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _without_dead(body: list[str]) -> list[str]:
    """The body without assignments to names that nothing reads, until none is left."""
    while True:
        used = _loaded(body)
        dead: set[int] = set()
        for node in ast.walk(_parse(body)):
            if _is_dead(node, used):
                assert isinstance(node, ast.Assign | ast.AnnAssign)
                dead.update(range(node.lineno - 2, (node.end_lineno or node.lineno) - 1))
        if not dead:
            tidy = (line.replace(" : tl.constexpr", ": tl.constexpr") for line in body)
            return [line for line in tidy if not _is_noise(line)]
        body = [line for place, line in enumerate(body) if place not in dead]


def _is_dead(node: ast.AST, used: set[str]) -> bool:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return False
    if not isinstance(target, ast.Name) or target.id in used or node.value is None:
        return False
    text = ast.unparse(node.value)
    return not any(effect in text for effect in _EFFECTS)


def _is_noise(line: str) -> bool:
    return line.strip() == "# inductor generates a suffix"
