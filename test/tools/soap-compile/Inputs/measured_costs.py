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
    assert all(row["low_ns"] <= row["measured_ns"] <= row["high_ns"] for row in rows)
    # Rows of earlier rounds ran at another time.
    last = [row for row in rows if row["round"] == max(row["round"] for row in rows)]
    fastest = min(last, key=lambda row: row["measured_ns"])
    print("taken:", "the fastest" if [row for row in rows if row["taken"]] == [fastest] else rows)


if __name__ == "__main__":
    if sys.argv[1] == "--tuning":
        print_tuning(sys.argv[2])
    else:
        print_costs(sys.argv[1:])
