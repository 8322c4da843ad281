"""Every algorithm on networks and clusters of Jia et al.: steps, gaps to the lower bound, seconds until they are found."""

import csv
import statistics

from .rows import PLACEMENTS, Row

NETWORKS = ("alexnet", "inception_v3", "resnet101", "rnntc", "rnnlm", "nmt")
CLUSTERS = (("p100", 1), ("p100", 4), ("k80", 1))
# Those with chance in them come last.
ALGORITHMS = ("optcnn", "local", "dpos", "os-dpos", "mcmc", *PLACEMENTS)


def seeds(algorithm, cluster):
    """How many runs: one without chance; placements get as many as `mcmc` where Jia et al. have them (figure 10a)."""
    if algorithm in PLACEMENTS:
        return 10 if cluster == "k80" else 3
    return 10 if algorithm == "mcmc" else 1


class AlgorithmRow(Row):
    """One algorithm on one network and cluster, with one seed and a limit in seconds alone."""

    def __init__(self, network, cluster, nodes, algorithm, seed):
        super().__init__(network, cluster, nodes, "all", algorithm)
        self.seed = seed
        self.name = f"algorithms.{network}.{cluster}.{self.devices}.{algorithm}.{seed}"
        self.file = self.file.with_name(f"{self.name}.json")

    def command(self, tool, model, folder, limits):
        command = [argument for argument in super().command(tool, model, folder, limits)
                   if not argument.startswith(("--proposals=", "--seed=", "--export-movements="))]
        return [*command, f"--seed={self.seed}", f"--search-log={folder / 'log.csv'}"]

    def collect(self, result, folder):
        super().collect(result, folder)
        with open(folder / "log.csv", encoding="utf-8") as file:
            result["history"] = [(float(row["seconds"]), int(row["best_ns"])) for row in csv.DictReader(file)]


def algorithm_rows():
    """Row by row, so that the first seed of all is there first."""
    rows = [AlgorithmRow(network, cluster, nodes, algorithm, seed)
            for cluster, nodes in CLUSTERS for network in NETWORKS for algorithm in ALGORITHMS
            for seed in range(seeds(algorithm, cluster))]
    return sorted(rows, key=lambda row: row.seed)


def is_over(report):
    """True where OptCNN had no time for all costs: what it returns then is another strategy."""
    return report["search"]["stopped_by"] == "time budget" and "sum_ns" not in report["search"]


def seconds_to_find(report):
    """When the search had a step within 0.1% of its last one."""
    last = report["search"]["step_ns"]
    return next((seconds for seconds, best in report["history"] if best <= 1.001 * last), 0)


def cell(reports):
    """Median step, gap to the lower bound, and seconds; with chance in it, the shortest and the longest step, too."""
    steps = sorted(report["search"]["step_ns"] / 1e6 for report in reports)
    bound = reports[0]["lower_bound"]["step_ns"] / 1e6
    step = statistics.median(steps)
    spread = f" ({steps[0]:.4g} to {steps[-1]:.4g})" if len(steps) > 1 else ""
    found = statistics.median(seconds_to_find(report) for report in reports)
    return f"{step:.4g}{spread}; {step / bound - 1:.0%}; {found:.1f}"


def print_algorithms(rows):
    """A line for each network and cluster, a column for each algorithm."""
    found = {}
    for row in rows:
        if (report := row.result()) is not None and not (row.algorithm == "optcnn" and is_over(report)):
            found.setdefault((row.network, row.cluster, row.devices), {}).setdefault(row.algorithm, []).append(report)
    print("| network | devices | lower bound, ms | data-parallel | " + " | ".join(ALGORITHMS) + " | best |")
    print("|---" * (5 + len(ALGORITHMS)) + "|")
    for (network, cluster, devices), by_algorithm in found.items():
        report = next(iter(by_algorithm.values()))[0]
        bound = report["lower_bound"]["step_ns"] / 1e6
        parallel = next(row["step_ns"] for row in report["strategies"] if row["name"] == "data-parallel") / 1e6
        medians = {name: statistics.median(report["search"]["step_ns"] for report in reports)
                   for name, reports in by_algorithm.items()}
        least = min(medians.values())
        best = [name for name in ALGORITHMS if medians.get(name, 2 * least) <= 1.005 * least]
        if len(by_algorithm) < len(ALGORITHMS) - 1:
            best = ["-"]
        print(f"| {network} | {devices} {cluster} | {bound:.4g} | {parallel:.4g}; {parallel / bound - 1:.0%} | "
              + " | ".join(cell(by_algorithm[name]) if name in by_algorithm else "-" for name in ALGORITHMS)
              + f" | {', '.join(best)} |")
