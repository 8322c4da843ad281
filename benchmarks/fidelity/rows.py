"""Rows: ten strategies of one network at one batch, simulated on measured costs and run in turn."""

import collections
import json
import pathlib
import random
import shlex
import statistics
import subprocess
import time

import onnx

import zoo

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "fidelity"
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"

# Networks of the zoo with their sizes; the others are light models of ONNX.
ZOO = {
    "bert_base": {"seq": 16},
    "bert_base_128": {"seq": 128},
    "gpt2_small": {"seq": 16, "layers": 4},
    "rnnlm": {},
    "nmt": {},
    "transformer": {"seq": 16, "layers": 2},
    "unet": {},
    "vit_b16": {},
    "dlrm": {},
}
LIGHT_MODELS = ("resnet50", "squeezenet", "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "shufflenet",
                "vgg19", "zfnet512")
BATCHES = (1, 4)
SLOW_LINK = "500MB/s:100us"
SLOW = ("resnet50", "rnnlm", "bert_base")
# Steps of training: networks of the zoo with a loss, their batch and sizes.
TRAINED = {"resnet50": (4, {}), "rnnlm": (4, {}), "gpt2_small": (1, {"seq": 128, "layers": 2})}
NAMED = ("single", "data-parallel", "model-parallel", "tensor-parallel", "spatial")
STRATEGIES = (("found", ("search",)), *((name, (name,)) for name in NAMED),
              *((f"random {seed}", ("random", f"--seed={seed}")) for seed in range(1, 5)))


def run_tool(*command, environment=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"error: {shlex.join(map(str, command))}\n{done.stderr}")
    return done.stdout


class Row:
    """One network at one batch on two one-core devices, perhaps over a slow link, or a step of its training."""

    def __init__(self, network, batch, slow=False, train=False):
        self.network, self.batch, self.slow, self.train = network, batch, slow, train
        self.name = f"{network}.{batch}" + (".slow" if slow else "") + (".train" if train else "")
        self.file = RESULTS / f"{self.name}.json"
        self.work = RESULTS / self.name

    def result(self):
        return json.loads(self.file.read_text()) if self.file.exists() else None

    def model(self):
        if self.network not in ZOO and not self.train:
            return LIGHT / f"light_{self.network}.onnx"
        path = self.work / "model.onnx"
        if not path.exists():
            sizes = TRAINED[self.network][1] if self.train else ZOO[self.network]
            zoo.save(str(path), self.network.removesuffix("_128"), loss=self.train, **sizes)
        return path

    def training(self):
        return ["--train=sgd", "--lr=0.001", "--loss=output", "--no-eval"] if self.train else []

    def link(self):
        return [f"--link={SLOW_LINK}"] if self.slow else []

    def compile(self, limits, strategy, costs, stem, *more):
        """Compiles to STEM.so; what the command says in JSON, and the simulated step in ms."""
        options = [f"--batch={self.batch}", "--init-weights=random:1", "--devices=2", "--cores-per-device=1",
                   "--no-reference", f"--budget={limits.budget}", *self.link(), *self.training()]
        exported = self.work / f"{stem}.json"
        text = run_tool(limits.build_dir / "bin" / "soap-compile", self.model(), *options, f"--cost={costs}",
                        f"--strategy={strategy[0]}", *strategy[1:], "--json", f"--export-strategy={exported}",
                        *more, "-o", self.work / f"{stem}.so", environment=limits.environment)
        said = json.loads(text) if text.strip() else {}
        return said, json.loads(exported.read_text())["simulated_ns"] / 1e6

    def measure(self, limits):
        """Measures the kernels of all strategies; returns what is known then, as a file, and what it took."""
        start, kernels, runs = time.perf_counter(), 0, 0
        measuring, path = 0.0, None
        for name, strategy in STRATEGIES:
            said, _ = self.compile(limits, strategy, "measured", f"first.{name.replace(' ', '-')}")
            costs = said["costs"]
            kernels, runs, path = kernels + costs["measured"], runs + costs["runs"], costs["file"]
            measuring += costs["wall_seconds"]
            if name == "found":
                search = said.get("search", {})
        kept = self.work / "costs.json"
        kept.write_text(pathlib.Path(path).read_text())
        return kept, {"kernels": kernels, "runs": runs, "seconds": measuring,
                      "search_seconds": search.get("wall_seconds"), "wall_seconds": time.perf_counter() - start,
                      "classes": costs["classes"]}

    def step(self, limits, stem):
        """The median step of one run, in ms."""
        text = run_tool(limits.build_dir / "bin" / "soap-run", self.work / f"{stem}.so", "--warmup=2",
                        f"--iterations={limits.iterations}", "--json", *self.link(), environment=limits.environment)
        return json.loads(text)["step"]["median_ns"] / 1e6

    def kernels(self, limits, stem):
        """What every kernel takes in one run, in ns by the key of its first operation, as files of costs have it:
        several kernels, where it is followed by different ones."""
        profile = self.work / "profile.json"
        run_tool(limits.build_dir / "bin" / "soap-run", self.work / f"{stem}.so", "--warmup=2",
                 f"--iterations={limits.iterations}", f"--profile-ops={profile}", *self.link(),
                 environment=limits.environment)
        return [(entry["key"].split(" + ")[0], entry["ns"])
                for entry in json.loads(profile.read_text())["entries"]]

    def simulate(self, limits, stem, costs, kernels):
        """The simulated step of a strategy in ms, where `kernels`, {key: [ns, ...]}, take their medians."""
        known = json.loads(costs.read_text())
        for entry in known["entries"]:
            if entry["key"] in kernels:
                entry["ns"] = int(statistics.median(kernels[entry["key"]]))
                entry["runs"] = [entry["ns"]]
        replaced = self.work / "replaced.json"
        replaced.write_text(json.dumps(known))
        _, simulated = self.compile(limits, (self.work / f"first.{stem}.json",), replaced, "again", "--emit=strategy")
        return simulated

    def simulate_all(self, limits, result):
        """Simulates every strategy on the kernels that were measured before, and on those measured in turn."""
        costs, known = self.work / "costs.json", collections.defaultdict(list)
        for strategy in result["strategies"]:
            for key, times in strategy.get("kernels", {}).items():
                known[key] += times
        for strategy in result["strategies"]:
            if strategy["name"] != "tuned" and "kernels" in strategy:
                stem = strategy["name"].replace(" ", "-")
                strategy["simulated_ms"] = self.simulate(limits, stem, costs, {})
                strategy["in_turn_ms"] = self.simulate(limits, stem, costs, known)
                strategy["own_ms"] = self.simulate(limits, stem, costs, strategy["kernels"])

    def run(self, limits):
        """Does what is missing; a row that is killed goes on with its runs."""
        self.work.mkdir(parents=True, exist_ok=True)
        partial = self.work / "partial.json"
        if partial.exists():
            result = json.loads(partial.read_text())
        else:
            costs, measuring = self.measure(limits)
            result = {"measuring": measuring, "strategies": []}
            for name, _ in STRATEGIES:
                stem = name.replace(" ", "-")
                _, simulated = self.compile(limits, (self.work / f"first.{stem}.json",), costs, stem)
                result["strategies"].append({"name": name, "simulated_ms": simulated, "runs": []})
                (self.work / f"first.{stem}.so").unlink()
            if limits.tune:
                said, simulated = self.compile(limits, ("search", f"--tune={limits.tune}"), "measured", "tuned")
                result["strategies"].append({"name": "tuned", "simulated_ms": simulated, "runs": []})
                result["tuning"] = said.get("tuning")
            write(partial, result)
        while len(result["strategies"][0]["runs"]) < limits.runs:
            order = result["strategies"][:]
            random.shuffle(order)
            for strategy in order:
                strategy["runs"].append(self.step(limits, strategy["name"].replace(" ", "-")))
            random.shuffle(order)
            for strategy in order:
                for key, ns in self.kernels(limits, strategy["name"].replace(" ", "-")):
                    strategy.setdefault("kernels", {}).setdefault(key, []).append(ns)
            write(partial, result)
        self.simulate_all(limits, result)
        write(self.file, result)


def write(path, value):
    """Whole or not at all."""
    other = path.with_suffix(".writing")
    other.write_text(json.dumps(value))
    other.rename(path)


def all_rows():
    networks = (*LIGHT_MODELS, *ZOO)
    return ([Row(network, batch) for network in networks for batch in BATCHES]
            + [Row(network, BATCHES[-1], slow=True) for network in SLOW]
            + [Row(network, batch, train=True) for network, (batch, _) in TRAINED.items()])


def interval(values):
    """The median, and ends of an interval that has the true one with 95% (sign test, normal approximation)."""
    ordered, count = sorted(values), len(values)
    half = 0.98 * count ** 0.5
    low = max(0, int(count / 2 - half))
    high = min(count - 1, int(-(-(count / 2 + half) // 1)) - 1)
    return statistics.median(ordered), ordered[low], ordered[high]


def drift(values):
    """How far apart the medians of every other run are: a strategy beside itself."""
    even, odd = statistics.median(values[::2]), statistics.median(values[1::2] or values)
    return abs(even / odd - 1)
