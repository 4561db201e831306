"""Directives in disguise, and code that could be right only where it is judged."""

import pytest

from kernelvault.verification.static_hip import parse_findings

BEFORE = "#include <hip/hip_runtime.h>\nconst char* s = \"/*\"; int n = 1'0; char q = '\"';\n"


def rejected(text: str) -> list[tuple[str, int]]:
    return [(f.rule, f.line) for f in parse_findings(BEFORE + text) if f.severity == "reject"]


@pytest.mark.parametrize(
    "text",
    [
        "#include_next <unistd.h>",
        "#import <unistd.h>",
        "%:include <unistd.h>",
        "??=include <unistd.h>",
        "#inc\\\nlude <unistd.h>",
        "#/**/include <unistd.h>",
        "#/*\n*/include <unistd.h>",
        "/* a */ # include <unistd.h>",
        '#embed "/etc/passwd"',
    ],
)
def test_a_disguised_include_is_refused(text: str) -> None:
    assert ("include", 3) in rejected(text)


def test_a_raw_string_hides_nothing_after_it() -> None:
    assert rejected('auto r = R"x(" /* )x";\n#import <unistd.h>\n') == [("include", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "#if defined(__x86_64__)\n#endif",
        "#if !defined(__gfx942__)\n#endif",
        "#ifndef __AMDGCN__\n#endif",
        "#ifdef __SSE2__\n#endif",
        "#define WHERE defined(__AMDGCN__)",
        '#if __has_include("/etc/passwd")\n#endif',
        "#if __SIZEOF_LONG_DOUBLE__ == 16\n#endif",
    ],
)
def test_code_that_tells_builds_apart_is_refused(text: str) -> None:
    assert ("build_conditional", 3) in rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "#ifndef BLOCK\n#define BLOCK 64\n#endif",
        "#if defined(__HIP_DEVICE_COMPILE__)\n#endif",
        "// #if defined(__gfx942__)\n",
        'const char* t = "#import <unistd.h> __gfx942__";',
        "#define SQUARE(x) \\\n  ((x) * (x))\n#include <math.h>  // math",
    ],
)
def test_ordinary_directives_stay_allowed(text: str) -> None:
    assert rejected(text) == []
