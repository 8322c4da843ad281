"""Prints what soap-compile --json says of costs and trials."""

import json
import sys


def read(path):
    with open(path) as file:
        return json.load(file)


def print_costs(paths):
    costs = [read(path)["costs"] for path in paths]
    print("missing:", *(cost["missing"] for cost in costs))
    print("the last one measured", "less" if costs[-1]["measured"] < costs[0]["measured"] + costs[1]["measured"]
          else costs[-1]["measured"])


def print_tuning(path):
    rows = read(path)["tuning"]
    print(", ".join(row["name"] for row in rows))
    # Rows that lost an earlier round ran at another time.
    last = [row for row in rows if row["taken"]]
    assert len(last) == 1 and all(row["low_ns"] <= row["median_ns"] <= row["high_ns"] for row in rows)
    slower = [row for row in rows if row["low_ns"] > last[0]["high_ns"]]
    overlapping = [row for row in rows if row not in slower and row is not last[0]]
    fastest = all(row["high_ns"] >= last[0]["low_ns"] for row in overlapping)
    print("taken:", "the fastest" if fastest else rows)


if __name__ == "__main__":
    if sys.argv[1] == "--tuning":
        print_tuning(sys.argv[2])
    else:
        print_costs(sys.argv[1:])
