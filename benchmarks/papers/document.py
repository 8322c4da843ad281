"""Tables of what was compiled, in the order of the claims of Jia et al. 2019."""

import collections
import re

from . import fastt


def step(report, name):
    """Milliseconds, or None where the strategy does not fit into memory."""
    row = strategy(report, name)
    return row["step_ns"] / 1e6 if row["fits"] else None


def strategy(report, name):
    return next(row for row in report["strategies"] if row["name"] == name)


def shown(value, digits=1):
    return "does not fit" if value is None else f"{value:,.{digits}f}"


def ratio(above, below):
    return "-" if above is None or below is None else f"{above / below:.2f}"


def print_steps(rows):
    """Figure 7, sections 8.2.1: steps under data parallel, the experts' strategy and the one that is found."""
    print("| network | cluster | devices | batch | data parallel, ms | expert, ms | found, ms | data parallel / found | "
          "expert / found | lower bound, ms | search, s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        report = row.result()
        if report is None:
            continue
        parallel, expert, found = (step(report, name) for name in ("data-parallel", row.expert, "found"))
        print(f"| {row.network} | {row.cluster} | {row.devices} | {row.batch} | {shown(parallel)} | {shown(expert)} "
              f"({row.expert}) | {shown(found)} | {ratio(parallel, found)} | {ratio(expert, found)} | "
              f"{report['lower_bound']['step_ns'] / 1e6:,.1f} | {report['search']['wall_seconds']:.0f} |")


def print_found(rows, columns):
    """Steps that several algorithms find: a line for each network, `columns` being titles and algorithms."""
    by_name = {row.name: row.result() for row in rows}
    titles = [title for title, _ in columns]
    print("| network | devices | data parallel, ms | "
          + " | ".join(f"{title}, ms | data parallel / it" for title in titles) + " | longest / shortest |")
    print("|---" * (4 + 2 * len(columns)) + "|")
    lines = {}
    for row in rows:
        lines.setdefault((row.network, row.cluster, row.devices, row.batches), {})[row.algorithm] = by_name[row.name]
    for (network, cluster, devices, _), found in lines.items():
        reports = [found.get(algorithm) for _, algorithm in columns]
        if reports[0] is None:
            continue
        steps = [report and step(report, "found") for report in reports]
        parallel = step(reports[0], "data-parallel")
        print(f"| {network} | {devices} {cluster} | {shown(parallel)} | "
              + " | ".join("- | -" if one is None else f"{shown(one)} | {ratio(parallel, one)}" for one in steps)
              + f" | {ratio(max(filter(None, steps)), min(filter(None, steps)))} |")


def print_local(rows):
    """Jia et al., section 8.4: whether a neighbour of what was found is better."""
    print("| network | devices | neighbours | groups | all configurations of | finished | better by |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        report = row.result()
        local = report and report.get("local_optimality")
        if not local:
            continue
        better = local["better"]
        gain = f"{1 - better['step_ns'] / local['step_ns']:.2%}" if better else "-"
        print(f"| {row.network} | {row.devices} {row.cluster} | {local['neighbours']:,} | {local['groups']} | "
              f"{local['complete_groups']} | {'yes' if local['finished'] else 'no'} | {gain} |")


def print_parts(row):
    """Figure 8: step, bytes that move and the work of all devices."""
    report = row.result()
    print("| strategy | step, ms | moved, GB | work of all devices, ms |")
    print("|---|---|---|---|")
    for name in ("data-parallel", row.expert, "found"):
        one = strategy(report, name)
        work = one["mean_compute_ns"] * row.devices / 1e6
        print(f"| {name} | {one['step_ns'] / 1e6:,.1f} | {one['communication_bytes'] / 1e9:,.2f} | {work:,.0f} |")


def bytes_between(report):
    """Bytes of transfers and collectives of the found strategy between devices, by pairs (each collective's bytes are
    spread evenly over the pairs of its devices)."""
    pairs = collections.Counter()
    for movement in report["movements"]["movements"]:
        devices = [device for device in movement["devices"] if device >= 0]
        if len(devices) < 2:
            continue
        among = [(a, b) for i, a in enumerate(devices) for b in devices[i + 1:] if a != b]
        for pair in among:
            pairs[tuple(sorted(pair))] += sum(movement["bytes"]) / len(among)
    return pairs


def print_pairs(row):
    """Figure 13's text: which of four devices exchange data."""
    pairs = bytes_between(row.result())
    total = sum(pairs.values())
    print("| devices | MB | share |")
    print("|---|---|---|")
    for (a, b), count in sorted(pairs.items()):
        print(f"| {a}, {b} | {count / 1e6:,.0f} | {count / total:.0%} |")


def print_kinds(row, patterns):
    """How the found strategy splits operations whose names match."""
    configured = row.result()["strategy"]["ops"]
    print("| operations | split | devices | how many |")
    print("|---|---|---|---|")
    for title, pattern in patterns.items():
        kinds = collections.Counter()
        for op in configured:
            if not re.search(pattern, op["op"]):
                continue
            split = " ".join(f"{loop}={degree}" for loop, degree in op["degrees"].items())
            if "replicate" in op:
                split = " ".join(filter(None, [split, f"copies={op['replicate']}"]))
            devices = sorted(set(op["devices"]))
            kinds[split or "-", ", ".join(map(str, devices))] += 1
        for (split, devices), count in sorted(kinds.items(), key=lambda item: -item[1]):
            print(f"| {title} | {split} | {devices} | {count} |")


LAYERS = {
    "embeddings": r"\.embedding$",
    "LSTMs": r"\.lstm\d\.step[0-9-]+$",
    "attention": r"^attention\.(key|scores|context|state\.combine)$",
    "softmax layer": r"^softmax\.linear$",
}


def print_comparisons(rows):
    """Rows by algorithm."""
    of = lambda batches, cluster, devices: [row for row in rows if (row.batches, row.cluster, row.devices)
                                            == (batches, cluster, devices)]
    print("## Placements on 4 K80 (figure 10a)\n")
    print_found(of("all", "k80", 4), [("cross-entropy", "placement-cross-entropy"),
                                      ("policy gradient", "placement-policy-gradient"), ("found", "mcmc")])
    print("\n## OptCNN on 16 P100 (figure 10b)\n")
    print_found(of("all", "p100", 16), [("OptCNN", "optcnn"), ("found", "mcmc")])
    print("\n## Neighbours (section 8.4)\n")
    print_local(rows)
    print()


def print_fastt(rows):
    """Tables and figure of Yi et al."""
    strong = [row for row in rows if row.batches == "fastt" and row.batch == fastt.FASTT[row.network]]
    weak = [row for row in rows if row.batches == "fastt-each"]
    for title, printer in (
            ("OS-DPOS on V100, batch of all devices (Yi et al., table 1)", lambda: fastt.print_gains(strong, fastt.STRONG)),
            ("OS-DPOS on V100, batch of each device (table 2)", lambda: fastt.print_gains(weak, fastt.WEAK)),
            ("Parts of OS-DPOS (tables 4 to 6, figure 2)", lambda: fastt.print_parts(strong)),
            ("BERT-large and memory (table 3)", lambda: fastt.print_memory(
                [row for row in rows if row.network == "bert_large" and row.batches == "fastt" and row.devices <= 2]))):
        print(f"## {title}\n")
        printer()
        print()


def print_document(rows, fastt_rows):
    print_comparisons(rows)
    print_fastt(fastt_rows)
    rows = [row for row in rows if row.algorithm == "mcmc"]
    by_name = {row.name: row for row in rows if row.result() is not None}
    for batches, title in (("each", "The batch is that of each device"), ("all", "The batch is that of all devices")):
        of_kind = [row for row in rows if row.name.endswith(batches) and row.name in by_name]
        if of_kind:
            print(f"## Steps. {title}\n")
            print_steps(of_kind)
            print()
    for name, printer, title in (
            ("nmt.k80.64.all", print_parts, "NMT on 64 K80 (figure 8)"),
            ("nmt.k80.64.each", print_parts, "NMT on 64 K80, 64 samples per device"),
            ("inception_v3.p100.4.all", print_parts, "Inception-v3 on 4 P100 (section 8.5)"),
            ("inception_v3.k80.4.all", print_pairs, "Inception-v3 on 4 K80: who exchanges data (section 8.5)"),
            ("nmt.p100.4.all", lambda row: print_kinds(row, LAYERS), "NMT on 4 P100: what is split (section 8.5)")):
        if name in by_name:
            print(f"## {title}\n")
            printer(by_name[name])
            print()
