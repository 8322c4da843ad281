#!/usr/bin/env python3
"""Counts what makes C++ code hard to read, in the files that git tracks.

  scripts/structure.py [--repo=DIR] [--list] [--function-lines=80] [--file-lines=400]
                       [--parameters=6] [--run-lines=6] [--doc-width=120]

Prints a table of functions and files with too many lines, of functions with too many
parameters, of repeated runs of lines, and of lines of documentation that are too wide;
--list names them. Lines of a function are counted from its first word to its closing
brace. A run is repeated if equal lines, without comments, blank lines, includes and
lines of punctuation, stand in two places. What KEPT names is not counted.
"""

import argparse
import collections
import pathlib
import re
import subprocess

CODE = re.compile(r"(lib|include|tools)/.*\.(h|cpp)$")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                   r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.S)
# Functions that keep their parameters, and why.
KEPT = {"soap_model_load_from_memory": "published in the C interface"}
NO_FUNCTION = re.compile(r"\b(namespace|class|struct|union|enum)\b(?![^(]*\))|"
                         r"^\s*(if|for|while|switch|do|else|try|catch|return)\b|=\s*$")


def blank(text):
    """The text without comments and the contents of strings; lines stay."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def parameters(head):
    """How many parameters the last pair of parentheses at depth 0 has, or None."""
    depth, start, best = 0, None, None
    for position, letter in enumerate(head):
        if letter == "(":
            if depth == 0 and best is None:
                start = position
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0 and best is None and start is not None:
                best = head[start + 1:position]
    if best is None:
        return None
    best = re.sub(r"[<({][^<>(){}]*[>)}]", "", best)
    best = re.sub(r"[<({][^<>(){}]*[>)}]", "", best)
    return len([one for one in best.split(",") if one.strip() not in ("", "void")])


def functions(text):
    """(first line, lines, parameters, name) of the functions that are defined."""
    clean = blank(text)
    clean = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                   lambda match: re.sub(r"[^\n]", " ", match.group()), clean, flags=re.M)
    stack, start = [], 0
    for position, letter in enumerate(clean):
        if letter == "{":
            head = clean[start:position]
            inside = any(stack_entry for stack_entry in stack)
            found = None
            if not inside and "(" in head and not NO_FUNCTION.search(head.strip()):
                first = start + len(head) - len(head.lstrip())
                name = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
                found = (first, parameters(head), name.group(1) if name else "?")
            stack.append(found)
            start = position + 1
        elif letter == "}":
            found = stack.pop() if stack else None
            if found:
                first, count, name = found
                line = clean.count("\n", 0, first) + 1
                yield line, clean.count("\n", 0, position) + 2 - line, count, name
            start = position + 1
        elif letter == ";" and not any(stack):
            start = position + 1


def code_lines(text):
    """(number, line) of what counts as code."""
    for number, line in enumerate(re.sub(r"//[^\n]*", "", text).split("\n"), 1):
        line = " ".join(line.split())
        if re.search(r"\w", line) and not line.startswith(("#", "using ")):
            yield number, line


def repeated_runs(texts, size):
    """(file, first line, file, first line, lines): each run once, at its longest."""
    windows = collections.defaultdict(list)
    lines = {file: list(code_lines(text)) for file, text in texts.items()}
    for file, code in lines.items():
        for i in range(len(code) - size + 1):
            windows[tuple(line for _, line in code[i:i + size])].append((file, i))
    pairs = {(a, b) for places in windows.values()
             for n, a in enumerate(places) for b in places[n + 1:]}
    for (file, i), (other, j) in sorted(pairs):
        if ((file, i - 1), (other, j - 1)) in pairs or (file == other and j - i < size):
            continue
        length = size
        while ((file, i + length - size + 1), (other, j + length - size + 1)) in pairs:
            length += 1
        yield file, lines[file][i][0], other, lines[other][j][0], length


def wide_lines(text, width):
    """Numbers of lines that are too wide; tables, code and addresses may be."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            code = not code
        elif (not code and len(line) > width and " " in line.strip()
              and not line.lstrip().startswith("|")):
            yield number


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--function-lines", type=int, default=80, metavar="N")
    parser.add_argument("--file-lines", type=int, default=400, metavar="N")
    parser.add_argument("--parameters", type=int, default=6, metavar="N")
    parser.add_argument("--run-lines", type=int, default=6, metavar="N")
    parser.add_argument("--doc-width", type=int, default=120, metavar="N")
    options = parser.parse_args()

    tracked = subprocess.run(["git", "ls-files"], cwd=options.repo, check=True,
                             stdout=subprocess.PIPE, text=True).stdout.split("\n")
    read = {file: (options.repo / file).read_text() for file in tracked
            if CODE.match(file) or re.match(r"(docs/.*|README)\.md$", file)}
    code = {file: text for file, text in read.items() if CODE.match(file)}
    found = [(file, *function) for file, text in code.items()
             for function in functions(text)]
    tables = {
        f"functions above {options.function_lines} lines":
            [f"{file}:{line}: {name}, {lines} lines"
             for file, line, lines, _, name in found if lines > options.function_lines],
        f"functions of more than {options.parameters} parameters":
            [f"{file}:{line}: {name}, {count} parameters"
             for file, line, _, count, name in found
             if count and count > options.parameters and name not in KEPT],
        f"files above {options.file_lines} lines":
            [f"{file}: {text.count(chr(10))} lines" for file, text in code.items()
             if text.count("\n") > options.file_lines],
        f"repeated runs of {options.run_lines} lines or more":
            [f"{file}:{i} and {other}:{j}, {count} lines"
             for file, i, other, j, count in repeated_runs(code, options.run_lines)],
        f"lines of documentation wider than {options.doc_width}":
            [f"{file}:{number}" for file, text in read.items() if file.endswith(".md")
             for number in wide_lines(text, options.doc_width)],
    }
    for title, rows in tables.items():
        print(f"{title}: {len(rows)}")
        if options.list:
            print("".join(f"  {row}\n" for row in rows), end="")
    if options.list:
        print("not counted:", *(f"{name} ({why})" for name, why in KEPT.items()))


if __name__ == "__main__":
    main()
