"""Leaves JSON that breaks careless readers: deep, huge, of other types than expected."""

import os

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
BOMBS = {
    "deep": "[" * 200_000,
    "deep_objects": '{"a":' * 200_000,
    "digits": '{"fault": null, "results": [], "cpu_s": ' + "9" * 1_000_000 + "}",
    "exponent": '{"fault": null, "results": [], "cpu_s": 1e999999, "configs": NaN}',
    "list": "[]",
    "null": "null",
    "text": '"x"',
    "keys": "{" + ",".join(f'"k{n}": {n}' for n in range(200_000)) + "}",
    "types": '{"fault": [], "results": {"a": 1}, "cpu_s": "x", "configs": {}, "workloads": 3}',
    "partial": '{"fault": null, "results": [{"launches": -1}], "cpu_s": 0, "configs": 1}',
    "surrogates": '{"reason": "\\ud800", "cause": "\\udfff", "next_step": "\\u0000"}',
    "bytes": None,
}
for name, text in BOMBS.items():
    with open(f"{OUT}/{name}.json", "wb") as file:
        file.write(b"\xff\xfe\x00{" * 1000 if text is None else text.encode())
print("contained: left JSON; it is given to the readers of the product", flush=True)
