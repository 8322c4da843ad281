#!/usr/bin/env python3
"""Sums JUnit reports (GoogleTest, lit, pytest) into one line.

usage: summarize_tests.py REPORT.xml...

Prints the failed cases, then `N passed, N failed, N skipped`. Exit status 1 if
a case failed, a report cannot be read, or no case ran.
"""

import sys
import xml.etree.ElementTree as ET


def classify(case):
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    if "skipped" in tags or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        try:
            cases = list(ET.parse(path).iter("testcase"))
        except (OSError, ET.ParseError) as error:
            print(f"failed: {path}: unreadable report: {error}")
            counts["failed"] += 1
            continue
        for case in cases:
            outcome = classify(case)
            counts[outcome] += 1
            if outcome == "failed":
                print(f"failed: {case.get('classname')}.{case.get('name')}")
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
