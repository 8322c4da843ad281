#!/usr/bin/env python3
"""Runs clang-tidy over lib, tools and test/lib, or over the sources whose paths match.

  scripts/tidy.py [--build=build/release] [-j N] [REGEX...]

Needs the sources that a build generates, so build first. Each source is checked once,
though programs with planted faults compile it again, and with a precompiled header made
here: a cached one remembers where it was made. Exit code 1 if something is found.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

FOLDERS = ("lib", "tools", "test/lib")
HEADER = ROOT / "lib/PrecompiledHeaders/PrecompiledHeaders.h"


def words(entry, precompiled):
    """The command of an entry without its launchers, with a precompiled HEADER."""
    command = shlex.split(entry["command"])
    command = command[next(i for i, word in enumerate(command) if "clang" in word):]
    replace = {".hxx": str(HEADER), ".pch": str(precompiled)}
    return [replace.get(pathlib.Path(word).suffix, word)
            if pathlib.Path(word).name.startswith("cmake_pch") else word
            for word in command]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-j", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--clang-tidy", default="clang-tidy-19")
    parser.add_argument("--run-clang-tidy", default="run-clang-tidy-19")
    parser.add_argument("regex", nargs="*", metavar="REGEX", default=["."])
    options = parser.parse_args()
    database = options.build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"error: expected a build, got: no {database}; configure and build first")
    folder = options.build.resolve() / "tidy"
    folder.mkdir(exist_ok=True)

    precompiled, sources = folder / "headers.pch", {}
    wanted = re.compile("|".join(options.regex))
    for entry in json.loads(database.read_text()):
        file = pathlib.Path(entry["file"])
        if file.name == "cmake_pch.hxx.cxx":
            if "unittests" in file.parts:
                continue  # Those of tests, which are not checked.
            subprocess.run(words(entry, precompiled), cwd=entry["directory"], check=True)
        elif any(file.is_relative_to(ROOT / folder) for folder in FOLDERS) and \
                wanted.search(str(file.relative_to(ROOT))):
            sources.setdefault(entry["file"], {
                "directory": entry["directory"], "file": entry["file"],
                "arguments": words(entry, precompiled)})
    if not sources:
        sys.exit("error: expected sources in lib, tools or test/lib, got: none that match")
    (folder / "compile_commands.json").write_text(json.dumps(list(sources.values())))
    done = subprocess.run([options.run_clang_tidy, "-quiet", f"-j{options.j}", "-p",
                           str(folder), "-clang-tidy-binary", options.clang_tidy,
                           "-warnings-as-errors=*"])
    sys.exit(1 if done.returncode else 0)


if __name__ == "__main__":
    main()
