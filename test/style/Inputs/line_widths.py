"""Prints lines of documents that are too wide: line_widths.py ROOT. Tables, blocks of
code and lines without a space in their text may be wider."""

import pathlib
import sys

WIDEST = 120


def too_wide(path):
    code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            code = not code
        elif (not code and len(line) > WIDEST and " " in line.strip()
              and not line.lstrip().startswith("|")):
            yield number, len(line)


root = pathlib.Path(sys.argv[1])
wide = [f"{path.relative_to(root)}:{number}: {width} characters"
        for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        for number, width in too_wide(path)]
print("\n".join(wide))
sys.exit(bool(wide))
