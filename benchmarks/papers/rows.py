"""Rows: a network's training step on a cluster, compiled to a report and kept as a file."""

import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "papers"

# Jia et al. 2019, section 8.1: networks, batches, and the strategy of experts that they compare with.
NETWORKS = {
    "alexnet": (256, "owt"),
    "inception_v3": (64, "owt"),
    "resnet101": (64, "owt"),
    "rnntc": (64, "expert-rnn"),
    "rnnlm": (64, "expert-rnn"),
    "nmt": (64, "expert-rnn"),
}
# Nodes of four devices; Jia et al. have 4 of P100 and 16 of K80.
CLUSTERS = {"p100": (1, 2, 4), "k80": (1, 2, 4, 8, 16)}
UNROLLED = 8  # Steps per operation, as in the authors' script for NMT.

RECURRENT = ("rnntc", "rnnlm", "nmt", "gnmt")
PER_NODE = {"p100": 4, "k80": 4, "v100": 8}


class Row:
    """One network on one cluster; the batch is that of each device, or of all together. Its strategy is found by
    `algorithm`."""

    keeps_refusals = False  # That nothing fits into memory is a result.

    def __init__(self, network, cluster, nodes, batches, algorithm="mcmc"):
        self.network, self.cluster, self.nodes, self.batches = network, cluster, nodes, batches
        self.algorithm = algorithm
        self.devices = PER_NODE[cluster] * nodes
        batch, self.expert = NETWORKS.get(network, (0, None))
        self.batch = batch * self.devices if batches == "each" else batch
        self.name = f"{network}.{cluster}.{self.devices}.{batches}" + ("" if algorithm == "mcmc" else f".{algorithm}")
        self.file = RESULTS / f"{self.name}.json"

    def topology(self, folder):
        """What --topology gets; a file of its own goes into `folder`."""
        return f"{self.cluster}:nodes={self.nodes}"

    def command(self, tool, model, folder, limits):
        recurrent = ["--unroll-rnn", str(UNROLLED)] if self.network in RECURRENT else []
        check = ["--check-local-optimality"] if limits.check_local_optimality else []
        return [str(tool), str(model), f"--batch={self.batch}", "--train=sgd", "--no-sparse-updates", *recurrent,
                *check, f"--search={self.algorithm}",
                f"--topology={self.topology(folder)}", "--emit=report", "--json", f"--budget={limits.budget}",
                f"--proposals={limits.proposals}", f"--seed={limits.seed}",
                f"--export-strategy={folder / 'strategy.json'}",
                f"--export-movements={folder / 'movements.json'}"]

    def run(self, tool, model, limits):
        """Compiles, and writes what came of it; a row that is killed leaves nothing."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command = self.command(tool, model, folder, limits)
            done = subprocess.run(command, capture_output=True, text=True)
            if self.keeps_refusals and "fits into memory" in done.stderr:
                self.keep({"does_not_fit": True})
                return
            if done.returncode:
                raise SystemExit(f"error: {' '.join(command)}\n{done.stderr}")
            result = json.loads(done.stdout[done.stdout.index("{"):])
            self.collect(result, folder)
        self.keep(result)

    def keep(self, result):
        RESULTS.mkdir(parents=True, exist_ok=True)
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(result))
        partial.rename(self.file)

    def collect(self, result, folder):
        """Adds the files that the command wrote."""
        for what in ("strategy", "movements"):
            path = folder / f"{what}.json"
            result[what] = json.loads(path.read_text()) if path.exists() else None

    def result(self):
        return json.loads(self.file.read_text()) if self.file.exists() else None


PLACEMENTS = ("placement-cross-entropy", "placement-policy-gradient")


def jia_rows():
    """Jia et al., figures 7 to 9; figure 10a; figure 10b."""
    return ([Row(network, cluster, nodes, batches) for batches in ("each", "all") for network in NETWORKS
             for cluster, counts in CLUSTERS.items() for nodes in counts]
            + [Row(network, "k80", 1, "all", algorithm) for network in ("inception_v3", "nmt")
               for algorithm in PLACEMENTS]
            + [Row(network, "p100", 4, "all", "optcnn") for network in NETWORKS])
