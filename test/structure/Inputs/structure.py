"""Checks the structure that docs/Architecture.md describes.

Usage: structure.py ROOT [ALLOWED]

A room is a folder of include/soap and the folder of lib of the same name. The
rules are:

  circle    No rooms include each other in a circle.
  target    Only a target's own room, the registration and tools include a
            target; all others know soap/Target/Target.h and TargetRegistry.h.
  backend   Only the room of a backend of the runtime includes it.
  costs     Dialects and what they are made of include neither the cost model nor
            the search: IR says what is, not what it costs.
  graph     The list in docs/Architecture.md ("ROOM ─▶ ROOM, ROOM") says which
            rooms include which. Edges that a longer way implies, faults
            (Testing) and the rooms inside of Runtime are left out.
  word      The word "cpu" stands in the rooms of the CPU only, comments and
            includes apart.

Prints `FILE:LINE: RULE: what is wrong` for every offence and exits with 1 if
there is one. ALLOWED has lines `RULE FILE` with offences that are known; a line
without an offence is one, too. (`#` starts a comment.)
"""

import collections
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
WORD = re.compile(r"\bcpu\b", re.IGNORECASE)
# What is not code: comments. Strings are kept, so that "//" in one is no comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

CPU_ROOMS = {"Target/CPU", "Target/Registration", "Runtime/CPU"}
# Rooms of Target that are none of a machine.
NO_TARGETS = {"Target", "Target/Host", "Target/Model", "Target/ONNX"}
MAY_NAME_TARGETS = {"Target/Registration"}
BACKENDS = {"Runtime/CPU", "Runtime/CUDA"}
# What knows no costs, and what knows them. Rooms below these count as well.
BELOW_COSTS = ("Dialect", "Links", "Partition", "Support", "Topology")
COSTS = ("CostModel", "Search")
DOCUMENT = "docs/Architecture.md"


def sources(root):
    for top in ("include", "lib", "tools"):
        folder = root / top
        yield from sorted(
            path for path in folder.rglob("*") if path.suffix in (".h", ".cpp"))


def room_of(path):
    """The room of a file relative to the root: "Target/CPU"; tools have one
    each."""
    parts = path.parts
    skip = {"include": 2, "lib": 1, "tools": 0}[parts[0]]
    return "/".join(parts[skip:-1])


def room_included(root, path, name):
    """The room that `path` includes `name` from; None: it is no file of ours."""
    if name.startswith("soap/"):
        return "/".join(name.split("/")[1:-1])
    for folder in (path.parent, pathlib.Path("lib/Runtime")):
        included = pathlib.Path(*(folder / name).parts)
        if (root / included).is_file():
            return room_of((root / included).resolve().relative_to(root))
    return None


def code_lines(text):
    """The lines of a file without its comments."""
    def blank(match):
        token = match.group(0)
        return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text).split("\n")


def circles(edges):
    """Sets of rooms that reach each other (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(room):
        index[room] = low[room] = len(index)
        stack.append(room)
        for other in sorted(edges[room]):
            if other not in index:
                visit(other)
            if other in stack:
                low[room] = min(low[room], low[other])
        if low[room] == index[room]:
            at = stack.index(room)
            found.append(stack[at:])
            del stack[at:]

    for room in sorted(edges):
        if room not in index:
            visit(room)
    return [set(rooms) for rooms in found if len(rooms) > 1]


def is_target(room):
    return room.startswith("Target/") and room not in NO_TARGETS | MAY_NAME_TARGETS


def is_in(room, rooms):
    return any(room == one or room.startswith(one + "/") for one in rooms)


def reduced(edges):
    """The edges that no longer way implies, between rooms as the document names
    them."""
    direct = collections.defaultdict(set)
    for room, others in edges.items():
        merged = ["Runtime" if is_in(one, ["Runtime"]) else one
                  for one in (room, *others)]
        direct[merged[0]] |= set(merged[1:]) - {merged[0], "Testing"}

    def reached(room, without):
        seen, rest = set(), [one for one in direct[room] if one != without]
        while rest:
            one = rest.pop()
            if one not in seen:
                seen.add(one)
                rest.extend(direct[one])
        return seen
    return {(room, other) for room in list(direct) for other in direct[room]
            if other not in reached(room, other)}


def documented(text):
    """Lists ((room, other), line number) of the arrows in a document."""
    result = []
    for number, line in enumerate(text.split("\n"), 1):
        room, arrow, others = line.partition("─▶")
        if arrow and not line.startswith("`") and "─▶" not in others:
            result += [((room.strip(), other.strip()), number)
                       for other in others.split(",")]
    return result


def offences(root):
    """Lists (rule, file, line number, text)."""
    result = []
    edges = collections.defaultdict(set)
    includes = []
    for source in sources(root):
        path = source.relative_to(root)
        room, in_tools = room_of(path), path.parts[0] == "tools"
        for number, line in enumerate(code_lines(source.read_text()), 1):
            match = INCLUDE.match(line)
            if not match and WORD.search(line) and room not in CPU_ROOMS:
                result.append(("word", path, number, line.strip()))
            other = match and room_included(root, path, match.group(1))
            if other is None or other == room:
                continue
            if not in_tools:
                edges[room].add(other)
                includes.append((room, other, path, number, line.strip()))
            if is_target(other) and not in_tools and room not in MAY_NAME_TARGETS:
                result.append(("target", path, number, line.strip()))
            if is_in(room, BELOW_COSTS) and is_in(other, COSTS):
                result.append(("costs", path, number, line.strip()))
            if other in BACKENDS:
                result.append(("backend", path, number, line.strip()))
    for rooms in circles(edges):
        names = ", ".join(sorted(rooms))
        result += [("circle", path, number, f"{line} (a circle of {names})")
                   for room, other, path, number, line in includes
                   if room in rooms and other in rooms]
    if (root / DOCUMENT).is_file():
        said = documented((root / DOCUMENT).read_text())
        path, is_so = pathlib.Path(DOCUMENT), reduced(edges)
        result += [("graph", path, number, f"{edge[0]} ─▶ {edge[1]} is not so")
                   for edge, number in said if edge not in is_so]
        result += [("graph", path, 1, f"{room} ─▶ {other} is missing")
                   for room, other in sorted(is_so - {edge for edge, _ in said})]
    return result


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    allowed = set()
    if len(sys.argv) > 2:
        for line in pathlib.Path(sys.argv[2]).read_text().split("\n"):
            if words := line.split("#")[0].split():
                allowed.add((words[0], words[1]))
    found, used = offences(root), set()
    failed = False
    for rule, path, number, text in found:
        if (rule, str(path)) in allowed:
            used.add((rule, str(path)))
            continue
        failed = True
        print(f"{path}:{number}: {rule}: {text}")
    for rule, path in sorted(allowed - used):
        failed = True
        print(f"{path}: {rule}: an allowed offence is gone; remove its line from "
              f"{sys.argv[2]}")
    files = sum(1 for _ in sources(root))
    print(f"{files} files, {len(found)} offences, {len(used)} allowed in files")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
