"""Networks as cases of an archive. Their weights are recipes, made where they run."""

import pathlib
import sys

import onnx

from compiled import Refused, run

WEIGHTS = "--init-weights=random:1"
TOLERANCE = 1e-4  # Of the norm, through tens of layers.

# Networks of the zoo (python -m zoo) that are compared with the CPU: options.
CHECKED = {
    "lenet5": ["--batch=4"],
    "alexnet": ["--batch=1"],
    "resnet50": ["--batch=1"],
    "inception_v3": ["--batch=1"],
    "vgg19": ["--batch=1"],
    "rnnlm": ["--batch=2", "--seq=6", "--option", "hidden=256"],
    "nmt": ["--batch=2", "--seq=5"],
    "bert_base": ["--batch=2", "--seq=32", "--option", "layers=2"],
    "gpt2_small": ["--batch=1", "--seq=32", "--option", "layers=2"],
    "vit_b16": ["--batch=1", "--option", "layers=2"],
    "light": [],  # The light models of the onnx package.
}

# Networks of the figures: steps of sequences, and whether torch.compile is timed, too.
MEASURED = {
    "resnet50": (0, True),
    "resnet101": (0, False),
    "inception_v3": (0, False),
    "vgg19": (0, False),
    "rnnlm": (40, False),
    "bert_large": (128, True),
    "gpt2_medium": (128, True),
}
# Others that may be named, to try the figures where steps take long.
TRIED = {"lenet5": (0, True)}


def build(compiler, name, network, options):
    model = compiler.scratch / f"{name}.onnx"
    run([sys.executable, "-m", "zoo", network, *options, "-o", model])
    return model


def recipes(model):
    """Inputs as recipes. Integers stay within the tables that they index."""
    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    return {value.name: "random:1" for value in graph.input if value.name not in weights}


def check_case(compiler, name, model, options=()):
    inputs = recipes(model)
    options = [WEIGHTS, *options]
    expected = compiler.by_cpu(name, model, options, inputs)
    items = []
    for devices, strategy in ((1, "single"), (4, "data-parallel"), (4, "random-team")):
        case = f"{name}-{strategy}-{devices}"
        try:
            place = compiler.for_gpus(case, model, [*options, f"--strategy={strategy}"],
                                      devices)
        except Refused as reason:
            print(f"left out: {reason}", file=sys.stderr)
            continue
        items.append({"name": case, "model": place, "inputs": inputs, "expected": expected,
                      "devices": devices, "rtol": TOLERANCE})
    return items


def light_models():
    folder = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return sorted(folder.glob("*.onnx"))


def check_jobs(compiler, names):
    jobs = []
    for name in names:
        if name == "light":
            jobs += [lambda model=model: check_case(compiler, model.stem, model)
                     for model in light_models()]
            continue
        jobs.append(lambda name=name: check_case(
            compiler, name, build(compiler, name, name, CHECKED[name])))
    return jobs


def figure_cases(compiler, network, batch, precisions):
    seq, compiled = {**MEASURED, **TRIED}[network]
    options = [f"--batch={batch}", *([f"--seq={seq}"] if seq else [])]
    model = build(compiler, f"{network}-batch{batch}", network, options)
    items = []
    for precision in precisions:
        name = f"{network}-batch{batch}-{precision}"
        place = compiler.for_gpus(name, model, [WEIGHTS, "--strategy=single",
                                                f"--precision={precision}"])
        items.append({"name": name, "network": network, "batch": batch, "seq": seq,
                      "precision": precision, "compile": compiled, "model": place,
                      "inputs": recipes(model)})
    return items


def figure_jobs(compiler, names, batches, precisions):
    return [lambda network=network, batch=batch: figure_cases(compiler, network, batch,
                                                              precisions)
            for network in names for batch in batches]
