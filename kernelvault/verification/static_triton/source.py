"""From text to a syntax tree: what is not plain Python text of bounded depth is refused here.

Triton reads a kernel's source a second time, from the file, with rules of its own; the text is
held to a form in which that second reading can only give the function that was checked.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from kernelvault.verification.static_hip import MAX_SOURCE_BYTES, Finding

MAX_DEPTH = 120
MAX_BRACES = 5000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_TRITON_DEF = re.compile(r"^def\s+\w+\s*\(", re.MULTILINE)


def parse(source: str) -> ast.Module | Finding:
    """The syntax tree of a module, or the finding that says why there is none."""
    refused = _text_finding(source)
    if refused is not None:
        return refused
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in literals are the candidate's affair
            tree = ast.parse(source, filename="candidate.py")
    except SyntaxError as error:
        return Finding("syntax", "reject", error.lineno or 0, f"not valid Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        text = f"Python cannot parse the source: {type(error).__name__}"
        return Finding("syntax", "reject", 0, text)
    line = _too_deep(tree)
    if line is not None:
        text = f"code is nested more than {MAX_DEPTH} levels deep; split it up"
        return Finding("too_deep", "reject", line, text)
    return tree


def _text_finding(source: str) -> Finding | None:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return Finding("not_text", "reject", 0, "the source holds a lone surrogate; write UTF-8")
    braces = source.count("{")  # Python's time for f-strings grows with the square
    if size > MAX_SOURCE_BYTES or braces > MAX_BRACES:
        text = f"{size} bytes and {braces} braces; at most {MAX_SOURCE_BYTES} and {MAX_BRACES}"
        return Finding("source_too_large", "reject", 0, text)
    control = _CONTROL.search(source.replace("\r\n", "\n"))
    if control is not None:
        text = f"the source holds the control character {control.group()!r}; use plain text"
        return Finding("not_text", "reject", 0, text)
    if source.startswith("\ufeff"):
        return Finding("not_text", "reject", 1, "the source begins with a byte order mark; drop it")
    for number, line in enumerate(source.split("\n")[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie.group(1).lower() not in ("utf-8", "utf8"):
            text = f"the source declares the encoding {cookie.group(1)[:40]}; write UTF-8"
            return Finding("not_text", "reject", number, text)
    return None


def _too_deep(tree: ast.Module) -> int | None:
    """The line of a node below MAX_DEPTH levels; found without recursion."""
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return int(getattr(node, "lineno", 0))
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return None


def lines_of(source: str) -> list[str]:
    """The lines as Python and Triton count them."""
    return source.replace("\r\n", "\n").split("\n")


def kernel_text_finding(source: Sequence[str], kernel: ast.FunctionDef) -> Finding | None:
    """A finding when Triton's own reading of a kernel's lines would give other code.

    The compiler searches the first line that begins a definition, the interpreter the last one:
    a decorator's or docstring's text must not look like one.
    """
    first = min([kernel.lineno, *(d.lineno for d in kernel.decorator_list)])
    lines = source[first - 1 : kernel.end_lineno]
    text = "\n".join(lines) + "\n"  # at column 0, so that nothing is dedented
    found = _TRITON_DEF.search(text)
    starts = [line for line in lines if line.strip().startswith("def ")]
    if found is not None and len(starts) == 1 and _same(text[found.start() :], kernel):
        return None
    message = (
        f"the text of kernel {kernel.name} can be read in two ways; write `def {kernel.name}(` on "
        "one line and let no other line of the kernel or its decorators begin with `def`"
    )
    return Finding("kernel_text", "reject", kernel.lineno, message)


def _same(text: str, kernel: ast.FunctionDef) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return False
    body[0].decorator_list = []
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(kernel)), "decorator_list": []})
    return ast.dump(body[0]) == ast.dump(bare)
