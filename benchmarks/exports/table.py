"""The table, as Markdown, from what the state file has."""

import collections
import statistics

STRATEGIES = ("single", "data-parallel", "tensor-parallel", "search")
WAYS = {"dynamo.static": "dynamo, static", "dynamo.dynamic": "dynamo, dynamic",
        "torchscript.static": "TorchScript, static", "torchscript.dynamic": "TorchScript, dynamic"}


def outcome(record):
    """What a row has come to: "equal", or the first step that failed."""
    if not record["exported"]:
        return "not exported"
    if not record["runs"]:
        return "not run by onnxruntime"
    found = record["strategies"]
    for name in STRATEGIES:
        if not found[name]["accepted"]:
            return "refused" if name == "single" else f"refused ({name})"
        if not found[name]["equal"]:
            return "differs" if name == "single" else f"differs ({name})"
    return "equal" if found["four"]["accepted"] else "refused (four devices)"


def failed_early(record):
    """True if SOAP was not asked: there is nothing to compile or to compare with."""
    return not record["exported"] or not record["runs"]


def reason(record):
    """Why a row is not equal; empty if it is."""
    found = [record, *record.get("strategies", {}).values()]
    return next((part["reason"] for part in found if part.get("reason")), "")


def summary(records):
    asked = [record for record in records.values() if not failed_early(record)]
    equal = [record for record in asked if outcome(record) == "equal"]
    networks = {name.split(".")[0] for name in records}
    exported = sum(record["exported"] for record in records.values())
    lines = [f"- {len(records)} rows of {len(networks)} networks; {exported} were exported, of which onnxruntime runs "
             f"{len(asked)}.",
             f"- {len(equal)} of these are accepted and equal" +
             (f" ({100 * len(equal) / len(asked):.1f}%)." if asked else ".")]
    for name, what in (("single", "one device"), ("data-parallel", "two devices, data parallel"),
                       ("tensor-parallel", "two devices, tensor parallel"),
                       ("search", "two devices, a search of 2,000 proposals"),
                       ("four", "four devices, data parallel")):
        times = sorted((record["strategies"][name]["compile"]["cpu"], record["row"]) for record in asked
                       if record["strategies"].get(name, {}).get("accepted"))
        if times:
            median = statistics.median(time for time, _ in times)
            lines.append(f"- Compile time, {what}: median {median:.2f} s of processor time, most "
                         f"{times[-1][0]:.2f} s (`{times[-1][1]}`).")
    return lines


def compile_time(rows):
    """The longest processor times for one and for four devices, of the ways of one network."""
    times = [[row["strategies"][name]["compile"]["cpu"] for row in rows
              if row.get("strategies", {}).get(name, {}).get("accepted")] for name in ("single", "four")]
    return " / ".join(f"{max(part):.2f}" if part else "-" for part in times)


def markdown(records, libraries):
    """A summary, a line per network, and the rows that are not equal with their reasons."""
    lines = summary(records)
    lines += ["", "| network | library | " + " | ".join(WAYS.values()) + " | compile s, 1 / 4 devices |",
              "|---" * (len(WAYS) + 3) + "|"]
    for network, library in libraries.items():
        rows = [records.get(f"{network}.{way}") for way in WAYS]
        if not any(rows):
            continue
        cells = [outcome(row) if row else "" for row in rows]
        lines.append(f"| {network} | {library} | " + " | ".join(cells) +
                     f" | {compile_time([row for row in rows if row])} |")
    reasons = collections.defaultdict(list)
    for name, record in sorted(records.items()):
        if outcome(record) != "equal":
            reasons[(outcome(record), reason(record))].append(name)
    if reasons:
        lines += ["", "| outcome | reason | rows |", "|---|---|---|"]
        lines += [f"| {what} | {why.replace('|', '/')} | {', '.join(names)} |"
                  for (what, why), names in sorted(reasons.items())]
    return "\n".join(lines)
