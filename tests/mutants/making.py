"""Makes mutants by mutmut's operators, and writes some of them, chosen by a seed, as lines of JSON.

It runs in an environment of its own, which has mutmut and nothing of Actum.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from mutmut.mutation.file_mutation import create_mutations, deep_replace


def main(root: str, seed: str, count: str, *folders: str) -> None:
    """Write so many mutants of what lies in these folders, each as its file and what that would hold."""
    paths = sorted(path for folder in folders for path in Path(root, folder).rglob("*.py"))
    mutations_by_path = {path: create_mutations(str(path), path.read_text(encoding="utf-8")) for path in paths}
    every = [(path, number) for path in paths for number in range(len(mutations_by_path[path][1]))]
    print(json.dumps(len(every)))
    random.Random(int(seed)).shuffle(every)  # of more mutants, fewer are the first
    for path, number in every[: int(count)]:
        module, mutations, *_ = mutations_by_path[path]
        mutation = mutations[number]
        if mutation.contained_by_top_level_function is not None:
            changed = deep_replace(module, mutation.original_node, mutation.mutated_node)
            print(json.dumps({"path": str(path), "number": number, "source": changed.code}))


if __name__ == "__main__":
    main(*sys.argv[1:])
