"""A soap-property-worker and what it says about a graph."""

import json
import pathlib
import re
import select
import subprocess

import numpy as np
import onnx

TIMEOUT = 300  # Seconds until a request counts as hung.


class Crash(Exception):
    """The worker ended or hung."""


class Worker:
    def __init__(self, build, folder, level=3):
        self.program = pathlib.Path(build).resolve() / "unittests" / "soap-property-worker"
        self.level = level
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "stderr.txt"
        self.process = None
        # What the process was asked to run: models, inputs by name, requests.
        self.history = []

    def start(self):
        self.history = []
        self.process = subprocess.Popen(
            [str(self.program), str(self.level)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=open(self.log, "w"), text=True)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, request):
        """One request; raises Crash, and then a new worker serves the next."""
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
            if not ready:
                raise Crash(f"the worker hung for {TIMEOUT} s")
            line = self.process.stdout.readline()
            if not line:
                raise Crash(f"the worker ended with {self.process.wait()}: {self.said()}")
            return json.loads(line)
        except (Crash, BrokenPipeError) as error:
            self.stop()
            raise Crash(str(error)) from None

    def said(self):
        """What it wrote to stderr: the end, or the report of a sanitizer."""
        text = self.log.read_text(errors="replace")
        report = re.search(r"(WARNING|ERROR): \w+Sanitizer|runtime error:", text)
        return text[report.start():][:4000] if report else text[-4000:]

    def operations(self):
        """All of the nn dialect that can be split."""
        return self.ask({"list": "operations"})["operations"]

    def finish(self):
        """Ends the worker; its exit code, where a sanitizer may have its say."""
        if not self.process:
            return 0
        self.process.stdin.close()
        code = self.process.wait(timeout=TIMEOUT)
        self.process = None
        return code

    def run(self, graph, runs, train=None):
        """Compiles and runs a graph under strategies. The answers with "outputs":
        name to array, where a run did not fail. With `train`, what the worker is to
        train, outputs are a list of such pairs."""
        model = self.folder / "case.onnx"
        graph.save(model)
        files = {}
        for number, (name, value) in enumerate(graph.inputs.items()):
            files[name] = str(self.folder / f"input{number}.bin")
            value.tofile(files[name])
        request = {"model": str(model), "unroll_rnn": graph.unroll, "fuse": graph.fuse,
                   "precision": graph.precision, "round_bias": graph.round_bias, "inputs": files,
                   "folder": str(self.folder), "runs": runs}
        request = {**request, "train": train} if train else request
        if not self.process:
            self.start()
        self.history.append((model.read_bytes(),
                             {name: value.tobytes() for name, value in graph.inputs.items()},
                             request))
        answer = self.ask(request)
        if "error" in answer:
            return [{"error": answer["error"]} for _ in runs]
        for number, result in enumerate(answer["runs"]):
            if "shapes" in result:
                result["outputs"] = read_described(result, self.folder / f"run{number}.bin")
            elif "outputs" in result:
                result["outputs"] = read(graph, result["outputs"],
                                         self.folder / f"run{number}.bin")
        return answer["runs"]


    def replay(self, history):
        """Asks for the same again."""
        for model, inputs, request in history:
            files = {}
            (self.folder / "replayed.onnx").write_bytes(model)
            for at, (name, value) in enumerate(inputs.items()):
                files[name] = str(self.folder / f"replayed{at}.bin")
                pathlib.Path(files[name]).write_bytes(value)
            self.ask({**request, "model": str(self.folder / "replayed.onnx"),
                      "inputs": files, "folder": str(self.folder)})


def write_history(history, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, (model, inputs, request) in enumerate(history):
        place = folder / f"{number:05}"
        place.mkdir()
        (place / "model.onnx").write_bytes(model)
        names = list(inputs)
        for at, name in enumerate(names):
            (place / f"input{at}.bin").write_bytes(inputs[name])
        (place / "request.json").write_text(json.dumps({"names": names, "request": request}))


def read_history(folder):
    history = []
    for place in sorted(folder.iterdir()):
        told = json.loads((place / "request.json").read_text())
        inputs = {name: (place / f"input{at}.bin").read_bytes()
                  for at, name in enumerate(told["names"])}
        history.append(((place / "model.onnx").read_bytes(), inputs, told["request"]))
    return history


def read(graph, names, file):
    """The outputs of a run: name to array."""
    types = {output.name: output.type.tensor_type for output in graph.model.graph.output}
    data, outputs, offset = file.read_bytes(), {}, 0
    for name in names:
        shape, dtype = [], np.dtype(np.int64)  # Added: a number of rows.
        if name in types:
            shape = [dim.dim_value for dim in types[name].shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(types[name].elem_type)
        count = int(np.prod(shape, dtype=np.int64))
        outputs[name] = np.frombuffer(data, dtype, count, offset).reshape(shape)
        offset += dtype.itemsize * count
    assert offset == len(data), f"{file} has {len(data)} bytes, not {offset}"
    return outputs


# By soap_element.
ELEMENTS = [onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name))
            for name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "INT16",
                         "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
                         "BOOL", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ",
                         "FLOAT8E5M2FNUZ", "INT4", "UINT4")]


def read_described(result, file):
    """The tensors of a run that says what they are: pairs of name and array."""
    data, tensors, offset = file.read_bytes(), [], 0
    for name, shape, element in zip(result["outputs"], result["shapes"], result["types"]):
        dtype = np.dtype(ELEMENTS[element])
        count = int(np.prod(shape, dtype=np.int64))
        tensors.append((name, np.frombuffer(data, dtype, count, offset).reshape(shape)))
        offset += dtype.itemsize * count
    assert offset == len(data), f"{file} has {len(data)} bytes, not {offset}"
    return tensors
