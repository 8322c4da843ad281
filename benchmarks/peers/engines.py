"""One class per engine: a loaded model, and a step of it. Each runs in a process of its own (worker.py)."""

import ctypes
import json
import pathlib
import subprocess

import numpy as np


class Soap:
    """A compiled model through the C interface."""

    def __init__(self, path, feeds, cores, options):
        build = pathlib.Path(options["build"])
        compiled = pathlib.Path(options["outputs"]).with_suffix(".so")
        given = [*options["compile"], *options["options"]]
        machine = [f"{name}={value}" for name, value in (("--devices", 1), ("--cores-per-device", cores))
                   if not any(option.startswith(f"{name}=") for option in given)]
        subprocess.run([build / "bin/soap-compile", path, *machine, *given, "-o", compiled], check=True,
                       stdout=subprocess.DEVNULL)
        info = json.loads(subprocess.run([build / "bin/soap-run", compiled, "--info", "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        self.runtime = ctypes.CDLL(str(next(build.glob("lib/libSOAPRuntime.so*"))))
        self.runtime.soap_last_error.restype = ctypes.c_char_p
        self.model = ctypes.c_void_p()
        self.check(self.runtime.soap_model_load(str(compiled).encode(), None, ctypes.byref(self.model)))
        self.inputs = [np.ascontiguousarray(feeds[port["name"]]) for port in info["inputs"]]
        self.results = {port["name"]: np.empty(port["shape"], np.float32) for port in info["outputs"]}
        self.arguments = [self.pointers(self.inputs), self.pointers(self.results.values())]

    @staticmethod
    def pointers(arrays):
        return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))

    def check(self, status):
        if status:
            raise RuntimeError(self.runtime.soap_last_error().decode())

    def step(self):
        self.check(self.runtime.soap_model_run(self.model, *self.arguments))

    def outputs(self):
        return self.results


class OnnxRuntime:
    def __init__(self, path, feeds, cores, _):
        import onnxruntime
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = cores
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        self.feeds = feeds

    def step(self):
        self.results = self.session.run(None, self.feeds)

    def outputs(self):
        return {port.name: value for port, value in zip(self.session.get_outputs(), self.results)}


class OpenVino:
    def __init__(self, path, feeds, cores, options):
        import openvino
        # By default it would compute in bf16 where the processor does.
        settings = {"INFERENCE_NUM_THREADS": cores, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                    "INFERENCE_PRECISION_HINT": "f32",
                    **dict(option.split("=", 1) for option in options["options"])}
        self.compiled = openvino.compile_model(openvino.Core().read_model(path), "CPU", settings)
        self.request = self.compiled.create_infer_request()
        self.request.set_tensors({name: openvino.Tensor(np.ascontiguousarray(value))
                                  for name, value in feeds.items()})

    def step(self):
        self.request.infer()

    def outputs(self):
        return {port.get_any_name(): self.request.get_tensor(port).data for port in self.compiled.outputs}


ENGINES = {"soap": Soap, "onnxruntime": OnnxRuntime, "openvino": OpenVino}
