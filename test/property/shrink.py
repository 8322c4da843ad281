"""Makes a failing case small: as long as it still fails, with an error of the
same kind, operators are dropped, sizes reduced, operations put on one device."""

import copy
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

import cases
import graphs
import judge

MAX_TRIES = 400


def kind_of(message):
    """What two failures must share: numbers and names apart."""
    return re.sub(r"[-+.\w]*\d[-+.\w]*|'[^']*'", "#", message)[:60]


class Shrinker:
    def __init__(self, tool, failure):
        self.tool = tool
        self.kind = kind_of(failure.message)
        self.best = failure
        self.tries = 0

    def fails(self, graph, strategy, devices):
        """The failure of a candidate, if it is one of the same kind."""
        self.tries += 1
        try:
            outputs = judge.evaluate(graph.model, graph.inputs)
        except Exception:  # Not a model any more.
            return None
        if any(not np.isfinite(value).all() or not value.any()
               for value in outputs.values()):
            return None
        runs = []
        if strategy is not None:
            runs = [{"devices": devices, "strategy": strategy, "adapt": True}]
        _, failures = cases.check(self.tool, graph, outputs, runs)
        for failure in failures:
            if (failure.run is None) == (self.best.run is None) and \
                    kind_of(failure.message) == self.kind:
                return failure
        return None

    def keep(self, graph, strategy, devices):
        """Takes a candidate, if there is one, over if it still fails."""
        if graph is None or self.tries >= MAX_TRIES:
            return False
        failure = self.fails(graph, strategy, devices)
        if failure:
            self.best = failure
        return failure is not None

    def strategy(self):
        return self.best.strategy if self.best.run else None

    def devices(self):
        return self.best.run["devices"] if self.best.run else 1

    def shrink(self):
        if not self.keep(self.best.graph, self.strategy(), self.devices()):
            return self.best  # Not without the launch order, say.
        while self.tries < MAX_TRIES:
            if not (self.drop_outputs() or self.cut_nodes() or
                    self.reduce_sizes() or self.simplify_strategy()):
                break
        return self.best

    # -- The graph

    def drop_outputs(self):
        """One output, and what only that one needs."""
        outputs = [output.name for output in self.best.graph.model.graph.output]
        if len(outputs) == 1:
            return False
        return any(self.keep(keep_outputs(self.best.graph, [name]), self.strategy(),
                             self.devices()) for name in outputs)

    def cut_nodes(self):
        """The result of a node becomes an output or an input of the graph."""
        model = self.best.graph.model.graph
        for node in model.node[:-1]:
            name = next(filter(None, node.output))
            if self.keep(keep_outputs(self.best.graph, [name]), self.strategy(),
                         self.devices()):
                return True
        if len(model.node) < 2:
            return False
        for node in reversed(model.node):
            if self.keep(make_input(self.best.graph, node), self.strategy(),
                         self.devices()):
                return True
        return False

    def reduce_sizes(self):
        """One number, wherever it is a size, becomes smaller."""
        sizes = set()
        for value in self.best.graph.inputs.values():
            sizes.update(value.shape)
        for tensor in self.best.graph.model.graph.initializer:
            sizes.update(tensor.dims)
        for size in sorted(sizes, reverse=True):
            for smaller in sorted({1, 2, size // 2, size - 1}):
                if 0 < smaller < size and self.keep(
                        resize(self.best.graph, size, smaller), self.strategy(),
                        self.devices()):
                    return True
        return False

    # -- The strategy

    def simplify_strategy(self):
        if not self.best.run:
            return False
        for position, entry in enumerate(self.best.strategy["ops"]):
            for simpler in simplifications(entry):
                strategy = copy.deepcopy(self.best.strategy)
                strategy["ops"][position] = simpler
                if self.keep(self.best.graph, strategy, self.devices()):
                    return True
        for used in range(1, self.devices()):
            strategy = copy.deepcopy(self.best.strategy)
            for entry in strategy["ops"]:
                entry["devices"] = [d % used for d in entry["devices"]]
            if self.keep(self.best.graph, strategy, used):
                return True
        return False


def simplifications(entry):
    """Smaller forms of one entry of a strategy file."""
    devices = entry["devices"]
    plain = {"op": entry["op"], "degrees": {}, "devices": devices[:1]}
    if len(devices) > 1:
        yield plain
    if entry.get("regather"):
        yield {**entry, "regather": []}
    degrees = {**entry["degrees"], "": entry.get("replicate", 1)}
    for loop, degree in degrees.items():
        for smaller in sorted({1, degree - 1}):
            if not 0 < smaller < degree:
                continue
            less = {**degrees, loop: smaller}
            count = int(np.prod(list(less.values())))
            copies = less.pop("")
            yield {**entry, "degrees": {k: v for k, v in less.items() if v > 1},
                   "replicate": copies, "devices": devices[:count]}
    if devices != sorted(devices):
        yield {**entry, "devices": sorted(devices)}


# -- Candidates


def rebuild(graph, nodes, inputs, outputs):
    """A graph of some nodes, without what nobody reads. None if numpy does not have
    the type of an output."""
    old = graph.model.graph
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.insert(0, node)
            needed.update(node.input)
    values = judge_shapes(graph)
    if not all(name in values for name in outputs):
        return None
    inputs = {name: value for name, value in inputs.items() if name in needed}
    made = helper.make_graph(
        kept, old.name, [graphs.info_of(*item) for item in inputs.items()],
        [graphs.info_of(n, values[n]) for n in outputs],
        [tensor for tensor in old.initializer if tensor.name in needed])
    model = helper.make_model(made, opset_imports=graph.model.opset_import,
                              ir_version=graph.model.ir_version)
    return graphs.Graph(model, inputs, graph.unroll, graph.fuse, graph.precision,
                        graph.round_bias)


def judge_shapes(graph):
    """Every tensor's value, but of those of types that numpy does not have."""
    everything = onnx.ModelProto()
    everything.CopyFrom(graph.model)
    del everything.graph.output[:]
    for node in filter(judge.is_readable, everything.graph.node):
        everything.graph.output.extend(onnx.ValueInfoProto(name=name)
                                       for name in node.output if name)
    return judge.evaluate(everything, graph.inputs)


def keep_outputs(graph, names):
    return rebuild(graph, list(graph.model.graph.node), graph.inputs, names)


def make_input(graph, node):
    values = judge_shapes(graph)
    if not all(name in values for name in node.output if name):
        return None
    nodes = [other for other in graph.model.graph.node if other is not node]
    inputs = {**graph.inputs, **{name: values[name] for name in node.output if name}}
    outputs = [o.name for o in graph.model.graph.output if o.name not in node.output]
    return rebuild(graph, nodes, inputs, outputs or [next(filter(None, nodes[-1].output))])


def resize(graph, size, smaller):
    """The same graph with `smaller` for `size` in every shape."""
    def cut(array):
        return array[tuple(slice(smaller if n == size else n) for n in array.shape)]

    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    for position, tensor in enumerate(model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.int64:
            array = np.where(array == size, smaller, array)
        else:
            array = cut(array)
        model.graph.initializer[position].CopyFrom(
            numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("group", "kernel_shape") and not attribute.ints:
                attribute.i = smaller if attribute.i == size else attribute.i
    inputs = {name: np.ascontiguousarray(cut(value))
              for name, value in graph.inputs.items()}
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_value = smaller if dim.dim_value == size else dim.dim_value
    for value in model.graph.output:  # As they come out.
        value.type.tensor_type.ClearField("shape")
    resized = graphs.Graph(model, inputs, graph.unroll, graph.fuse, graph.precision,
                           graph.round_bias)
    try:
        outputs = judge.evaluate(model, inputs)
    except Exception:
        return resized
    del model.graph.output[:]
    for name, array in outputs.items():
        model.graph.output.append(graphs.info_of(name, array))
    return resized


def shrink(tool, failure):
    """The smallest failure that was found."""
    return Shrinker(tool, failure).shrink()
