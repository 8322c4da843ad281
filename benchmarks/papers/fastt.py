"""Rows of Yi et al. (2020): OS-DPOS on servers of V100, with the batch of all devices together or of each."""

import json

from .rows import ROOT, Row

# Table 1: networks and batches. A Transformer has 4,096 tokens: 64 sentences of 64 words.
FASTT = {"inception_v3": 64, "vgg19": 64, "resnet200": 32, "lenet5": 256, "alexnet": 256, "gnmt": 128, "rnnlm": 64,
         "transformer": 64, "bert_large": 16}
# Tables 1 and 2: gain over the best data parallel, and on how many devices it was reached, of which servers.
STRONG = {"inception_v3": (1.5, 4), "vgg19": (59.4, 4), "resnet200": (16.4, 2), "lenet5": (36.3, 2),
          "alexnet": (37.6, 2), "gnmt": (8.9, 8), "rnnlm": (12.9, 2), "transformer": (14.7, 4),
          "bert_large": (22.8, 4)}
WEAK = {"inception_v3": (4.7, 16), "vgg19": (19.2, 16), "resnet200": (6.2, 16), "lenet5": (15.8, 4),
        "alexnet": (9.3, 4), "gnmt": (4.9, 16), "rnnlm": (2.7, 16), "transformer": (0, 16), "bert_large": (7.8, 16)}
# Table 4: seconds of Algorithm 2 on 2, 4 and 8 devices.
SECONDS = {"bert_large": (449, 470, 530), "inception_v3": (29, 65, 125), "vgg19": (24, 63, 118),
           "resnet200": (201, 482, 793), "lenet5": (3.5, 8.7, 11), "alexnet": (4.2, 9.6, 18),
           "transformer": (783, 1953, 5775), "gnmt": (122, 259, 523), "rnnlm": (49, 92, 174)}
# Table 3: batches of BERT-large on one device and on two.
MEMORY_BATCHES = (32, 40, 48, 128, 192, 224, 256, 320)


class FastTRow(Row):
    """One network on the first devices of a server, or on all of two servers."""

    keeps_refusals = True

    def __init__(self, network, devices, batches, batch=None):
        super().__init__(network, "v100", max(1, devices // 8), batches, "os-dpos")
        self.devices = devices
        per = FASTT[network] if batch is None else batch
        self.batch = per * devices if batches == "fastt-each" else per
        size = "" if batch is None else f".{batch}"
        self.name = f"{network}.v100.{devices}.{batches}{size}.os-dpos"
        self.file = self.file.with_name(f"{self.name}.json")

    def topology(self, folder):
        if self.devices % 8 == 0:
            return super().topology(folder)
        machine = json.loads((ROOT / "topologies" / "v100-8.json").read_text())
        left_out = set(range(self.devices, 8))
        machine["name"] = f"v100-{self.devices}"
        machine["devices"] = [device for device in machine["devices"] if device["id"] not in left_out]
        machine["links"] = [link for link in machine["links"] if not {link["from"], link["to"]} & left_out]
        for device in machine["devices"]:
            if device["kind"] == "host":
                device["id"] = self.devices
        path = folder / "topology.json"
        path.write_text(json.dumps(machine))
        return str(path)


def fastt_rows():
    """Tables 1, 2 and 4 to 6, figure 2; table 3."""
    return ([FastTRow(network, devices, "fastt") for devices in (2, 4, 8, 16) for network in FASTT]
            + [FastTRow(network, devices, "fastt-each") for devices in (2, 4, 8, 16) for network in FASTT]
            + [FastTRow("bert_large", devices, "fastt", batch) for batch in MEMORY_BATCHES for devices in (1, 2)])


def starts_of(report):
    """Milliseconds of what OS-DPOS tried, by name; None where it does not fit. On one device nothing is searched."""
    if "search" not in report:
        return {}
    return {start["name"]: None if start["step_ns"] is None else start["step_ns"] / 1e6
            for start in report["search"]["starts"]}


def shown(value):
    return "does not fit" if value is None else f"{value:.4g}"


def named(report, name):
    """Milliseconds, or None where it does not fit into memory."""
    row = next(row for row in report["strategies"] if row["name"] == name)
    return row["step_ns"] / 1e6 if row["fits"] else None


def step_of(report):
    return report["search"]["step_ns"] / 1e6


def by_network(rows):
    found = {}
    for row in rows:
        if (report := row.result()) is not None:
            found.setdefault(row.network, {})[row.devices] = (row, report)
    return found


def print_gains(rows, paper):
    """Tables 1 and 2: samples per second under data parallel and under OS-DPOS, and the gain over the best data
    parallel of any number of devices."""
    rows = by_network(rows)
    counts = sorted({devices for found in rows.values() for devices in found})
    print("| network | batch | " + " | ".join(f"{count}: data parallel | OS-DPOS" for count in counts)
          + " | gain, best over best | paper | search, s |")
    print("|---" * (5 + 2 * len(counts)) + "|")
    for network, found in rows.items():
        rates, best, speed = [], 0, 0
        for count in counts:
            if count not in found:
                rates.append("- | -")
                continue
            row, report = found[count]
            if report.get("does_not_fit"):
                rates.append("does not fit | does not fit")
                continue
            parallel = named(report, "data-parallel")
            ours = 1e3 * row.batch / step_of(report)
            rates.append(f"{'does not fit' if parallel is None else f'{1e3 * row.batch / parallel:,.0f}'} | {ours:,.0f}")
            best = max(best, 1e3 * row.batch / parallel if parallel else 0)
            speed = max(speed, ours)
        seconds = ", ".join(f"{report['search']['wall_seconds']:.0f}" for _, report in found.values()
                            if "search" in report)
        gain = f"{speed / best - 1:.1%}" if best else "-"
        per = next(iter(found.values()))[0]
        print(f"| {network} | {FASTT[network]} | " + " | ".join(rates)
              + f" | {gain} | {paper[network][0]}% on {paper[network][1]} | {seconds} |")


def print_parts(rows):
    """Tables 4 to 6 and figure 2: what each part of the algorithm gives on each number of devices."""
    print("| network | devices | replicas, enforced order | the same by fifo | whole operations | with splits | "
          "operations split | split gains | order gains | search, s |")
    print("|---" * 10 + "|")
    for row in rows:
        report = row.result()
        if report is None or report.get("does_not_fit"):
            continue
        times = starts_of(report)
        enforced = times.get("dpos of replicas")
        fifo = times.get("dpos of replicas in order of fifo")
        splits = {name: ns for name, ns in times.items() if name.startswith("os-dpos with") and ns is not None}
        split = min(splits.values(), default=None)
        unsplit = min((ns for name, ns in times.items() if name not in splits and ns is not None), default=None)
        print(f"| {row.network} | {row.devices} | {shown(enforced)} | {shown(fifo)} | "
              f"{shown(times.get('dpos of whole operations'))} | {'-' if split is None else shown(split)} | "
              f"{next(iter(splits)).split()[2] if splits else 0} | "
              f"{f'{1 - split / unsplit:.1%}' if split and unsplit else '-'} | "
              f"{f'{1 - enforced / fifo:.1%}' if enforced and fifo else '-'} | "
              f"{report['search']['wall_seconds']:.1f} |")


def print_memory(rows):
    """Table 3: steps of BERT-large on one device and on two."""
    print("| batch | one device, ms | two: data parallel, ms | DPOS of whole operations, ms | OS-DPOS, ms |")
    print("|---" * 5 + "|")
    reports = {(row.batch, row.devices): row.result() for row in rows}
    for batch in sorted({batch for batch, _ in reports}):
        one, two = reports.get((batch, 1)), reports.get((batch, 2))
        if two is None:
            continue
        single = None if one is None or one.get("does_not_fit") else named(one, "single")
        cells = ([None] * 3 if two.get("does_not_fit") else
                 [named(two, "data-parallel"), starts_of(two).get("dpos of whole operations"), step_of(two)])
        print(f"| {batch} | {'-' if one is None else shown(single)} | {' | '.join(map(shown, cells))} |")
