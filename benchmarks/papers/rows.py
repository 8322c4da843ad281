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

# Yi et al. 2020, table 1: networks and batches of all devices together. A Transformer has 4,096 tokens: 64 sentences
# of 64 words.
FASTT = {"inception_v3": 64, "vgg19": 64, "resnet200": 32, "lenet5": 256, "alexnet": 256, "gnmt": 128, "rnnlm": 64,
         "transformer": 64, "bert_large": 16}
RECURRENT = ("rnntc", "rnnlm", "nmt", "gnmt")
PER_NODE = {"p100": 4, "k80": 4, "v100": 8}


class Row:
    """One network on one cluster; the batch is that of each device, or of all together (`fastt`: that of Yi et al.).
    Its strategy is found by `algorithm`."""

    def __init__(self, network, cluster, nodes, batches, algorithm="mcmc"):
        self.network, self.cluster, self.nodes, self.batches = network, cluster, nodes, batches
        self.algorithm = algorithm
        self.devices = PER_NODE[cluster] * nodes
        batch, self.expert = NETWORKS.get(network, (0, None))
        if batches == "fastt":
            batch = FASTT[network]
        self.batch = batch * self.devices if batches == "each" else batch
        self.name = f"{network}.{cluster}.{self.devices}.{batches}" + ("" if algorithm == "mcmc" else f".{algorithm}")
        self.file = RESULTS / f"{self.name}.json"

    def command(self, tool, model, folder, limits):
        recurrent = ["--unroll-rnn", str(UNROLLED)] if self.network in RECURRENT else []
        check = ["--check-local-optimality"] if limits.check_local_optimality else []
        return [str(tool), str(model), f"--batch={self.batch}", "--train=sgd", *recurrent, *check,
                f"--search={self.algorithm}",
                f"--topology={self.cluster}:nodes={self.nodes}", "--emit=report", "--json", f"--budget={limits.budget}",
                f"--proposals={limits.proposals}", f"--seed={limits.seed}",
                f"--export-strategy={folder / 'strategy.json'}",
                f"--export-movements={folder / 'movements.json'}"]

    def run(self, tool, model, limits):
        """Compiles, and writes what came of it; a row that is killed leaves nothing."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command = self.command(tool, model, folder, limits)
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"error: {' '.join(command)}\n{done.stderr}")
            result = json.loads(done.stdout[done.stdout.index("{"):])
            for what in ("strategy", "movements"):
                path = folder / f"{what}.json"
                result[what] = json.loads(path.read_text()) if path.exists() else None
        RESULTS.mkdir(parents=True, exist_ok=True)
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(result))
        partial.rename(self.file)

    def result(self):
        return json.loads(self.file.read_text()) if self.file.exists() else None


PLACEMENTS = ("placement-cross-entropy", "placement-policy-gradient")


def all_rows():
    """Jia et al., figures 7 to 9; figure 10a; figure 10b; Yi et al., tables 1 and 6."""
    return ([Row(network, cluster, nodes, batches) for batches in ("each", "all") for network in NETWORKS
             for cluster, counts in CLUSTERS.items() for nodes in counts]
            + [Row(network, "k80", 1, "all", algorithm) for network in ("inception_v3", "nmt")
               for algorithm in PLACEMENTS]
            + [Row(network, "p100", 4, "all", "optcnn") for network in NETWORKS]
            + [Row(network, "v100", 1, "fastt", algorithm) for network in FASTT for algorithm in ("os-dpos", "mcmc")])
