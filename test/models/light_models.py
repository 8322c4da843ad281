"""The nine light models: real networks whose weights come from a seed."""

import dataclasses
import pathlib
import random

import numpy as np
import onnx
import onnxruntime

FOLDER = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
         "shufflenet", "squeezenet", "vgg19", "zfnet512"]
# These have the operators of AlexNet, and more weights than all others.
ALIKE = ("vgg19", "zfnet512")
SEED = 1
TOLERANCE = 1e-4  # Of the norm of the reference.
# Where random strategies are compared tensor by tensor; all weigh little.
VERIFIED = ["inception_v1", "shufflenet", "squeezenet"]
MIN_SPREAD = 0.1  # Standard deviation over RMS of a reference that says something.


@dataclasses.dataclass
class Model:
    """A model of one batch size, with outputs added: the tensor before the
    softmax and ten seeded intermediate tensors."""

    name: str
    batch: int
    folder: pathlib.Path  # Of everything that is made from it.
    onnx: pathlib.Path  # The model with added outputs, weights left constant.
    inputs: dict  # Name to .npy file.
    references: dict  # Output to onnxruntime's values.

    def compile_arguments(self):
        return [self.onnx, f"--batch={self.batch}", f"--init-weights=random:{SEED}"]

    def input_arguments(self):
        return [f"--input={name}={file}" for name, file in self.inputs.items()]


def prepare(tools, name, batches, folder):
    """Makes weights from the seed and runs onnxruntime with them: the model of
    each batch size."""
    added, seeded = folder / "outputs.onnx", folder / "seeded.onnx"
    tools.script("materialize_weights.py", FOLDER / f"light_{name}.onnx",
                 f"--seed={SEED}", "--batch=any", "--intermediate=10",
                 f"--outputs-only={added}", "-o", seeded,
                 f"--soap-translate={tools.bin / 'soap-translate'}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(seeded, options,
                                           providers=["CPUExecutionProvider"])
    models = {batch: run(session, name, batch, folder, added) for batch in batches}
    del session
    for file in folder.glob("seeded.onnx*"):
        file.unlink()  # Up to 600 MB.
    return models


def run(session, name, batch, folder, added):
    folder = folder / str(batch)
    folder.mkdir()
    values, files = {}, {}
    for number, value in enumerate(session.get_inputs()):
        generator = np.random.default_rng([SEED, number])
        values[value.name] = generator.random((batch, *value.shape[1:]), np.float32)
        files[value.name] = folder / f"input{number}.npy"
        np.save(files[value.name], values[value.name])
    names = [output.name for output in session.get_outputs()]
    references = dict(zip(names, session.run(names, values)))
    return Model(name, batch, folder, added, files, references)


def relative_error(got, reference):
    """NaN if either has one."""
    assert got.shape == reference.shape
    reference = reference.astype(np.float64)
    return np.linalg.norm(got - reference) / np.linalg.norm(reference)


def spread(reference):
    reference = reference.astype(np.float64)
    return reference.std() / np.sqrt(np.mean(reference**2))


def random_seeds(name, count=3, of=30):
    """A sample of the seeds of random strategies, fixed for each model."""
    return sorted(random.Random(f"{SEED} {name}").sample(range(of), count))


def devices_of(seed):
    """For a random strategy: 2 to 6. Three and five devices split most
    dimensions unevenly."""
    return 2 + seed % 5


def movements(listed):
    """What moved, without order and names, as something that compares."""
    return sorted((m["phase"], m["kind"], tuple(m["devices"]), tuple(m["bytes"]))
                  for m in listed)
