//===- CudnnStandIn.cpp - cuDNN without a GPU -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of the name of cuDNN, for tests: it takes descriptions of
// convolutions and of additions of a bias by the graph interface, refuses those
// that contradict themselves, and computes them on the host, in the streams of
// the stand-in for the driver. Its engines differ in what they need and in what
// they say of their arithmetic; the one with tensor cores rounds f32 to TF32.
// SOAP_CUDNN_REFUSES=bias: no engine adds one. SOAP_CUDNN_REFUSES=f32: none
// takes f32 as it is.
// What runs is written to the file that SOAP_CUDA_LOG names.
//
//===----------------------------------------------------------------------===//

#include "Emulated/Memory.h"
#include "Error.h"
#include "Queue.h"
#include <cstring>
#include <cudnn.h>
#include <optional>

using namespace soap;
using runtime::DevicePointer;
using runtime::text;

namespace {
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> attributes;
  bool isFinal = false;

  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    auto it = attributes.find(name);
    if (it == attributes.end())
      return {};
    std::vector<T> result(it->second.size() / sizeof(T));
    std::memcpy(result.data(), it->second.data(), it->second.size());
    return result;
  }
  template <typename T>
  T get(cudnnBackendAttributeName_t name) const {
    auto it = attributes.find(name);
    T value;
    if (it == attributes.end() || it->second.size() != sizeof(value))
      throw std::runtime_error(text("attribute ", name, " is missing"));
    std::memcpy(&value, it->second.data(), sizeof(value));
    return value;
  }
  const Descriptor &part(cudnnBackendAttributeName_t name) const {
    auto *other = static_cast<Descriptor *>(get<void *>(name));
    if (!other || !other->isFinal)
      throw std::runtime_error("a description that is not final");
    return *other;
  }
};

/// A tensor of an operation.
struct Tensor {
  explicit Tensor(const Descriptor &own)
      : number(own.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        type(own.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        shape(own.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(own.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)),
        isVirtual(own.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
    if (shape.size() < 4 || shape.size() > 5 || strides.size() != shape.size())
      throw std::runtime_error("a tensor that has neither 2 nor 3 dims");
  }
  int64_t number;
  cudnnDataType_t type;
  std::vector<int64_t> shape, strides;
  bool isVirtual;

  int64_t at(const std::vector<int64_t> &index) const {
    int64_t offset = 0;
    for (size_t d = 0; d != shape.size(); ++d)
      offset += strides[d] * index[d];
    return offset;
  }
  int64_t count() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
};

/// A graph: a convolution or a gradient, and the addition of a bias.
struct Graph {
  explicit Graph(const Descriptor &own);
  /// `tf32`: factors of f32 are rounded first.
  void run(const std::map<int64_t, void *> &addresses, bool tf32) const;
  std::string describe() const;
  bool hasTwoTypes() const {
    const Tensor &result = sum ? *sum : *y;
    return x->type != w->type || x->type != result.type;
  }

  cudnnBackendDescriptorType_t type;
  float alpha = 1, beta = 0;
  std::optional<Tensor> x, w, y, bias, sum;
  std::vector<int64_t> strides, dilations, pads;

private:
  void check() const;
  template <typename Visit>
  void forEachProduct(Visit visit) const;
};
} // namespace

/// True for every index of a shape, one after the other.
static bool advance(std::vector<int64_t> &index,
                    const std::vector<int64_t> &shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] != shape[d])
      return true;
    index[d] = 0;
  }
  return false;
}

Graph::Graph(const Descriptor &own) {
  for (void *handle : own.list<void *>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    const Descriptor &op = *static_cast<Descriptor *>(handle);
    if (!op.isFinal)
      throw std::runtime_error("an operation that is not final");
    if (op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      const Descriptor &how =
          op.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
      if (how.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) !=
          CUDNN_POINTWISE_ADD)
        throw std::runtime_error("an operation that is no addition");
      bias.emplace(op.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
      sum.emplace(op.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
      Tensor input(op.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
      if (!y || input.number != y->number || !y->isVirtual)
        throw std::runtime_error("an addition to another tensor");
      continue;
    }
    type = op.type;
    auto take = [&](cudnnBackendAttributeName_t first) {
      // Attributes of the three operations stand in one order of their own.
      auto name = [&](int i) {
        return static_cast<cudnnBackendAttributeName_t>(first + i);
      };
      alpha = op.get<float>(name(0));
      beta = op.get<float>(name(1));
      const Descriptor &windows = op.part(name(2));
      strides = windows.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
      dilations = windows.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
      pads = windows.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
      if (pads != windows.list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS))
        throw std::runtime_error("pads of two sizes");
    };
    switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      take(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
      w.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
      x.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
      y.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      take(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
      w.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
      x.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
      y.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      take(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
      w.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
      x.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
      y.emplace(op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
      break;
    default:
      throw std::runtime_error("an operation of another kind");
    }
  }
  check();
}

void Graph::check() const {
  auto require = [](bool holds) {
    if (!holds)
      throw std::runtime_error("shapes that contradict each other");
  };
  require(x && w && y && x->shape.size() == w->shape.size() &&
          x->shape.size() == y->shape.size());
  size_t dims = x->shape.size() - 2;
  require(strides.size() == dims && dilations.size() == dims &&
          pads.size() == dims);
  require(x->shape[0] == y->shape[0] && w->shape[0] == y->shape[1] &&
          x->shape[1] % w->shape[1] == 0);
  int64_t groups = x->shape[1] / w->shape[1];
  require(w->shape[0] % groups == 0);
  for (size_t i = 0; i != dims; ++i) {
    int64_t extent = (w->shape[2 + i] - 1) * dilations[i] + 1;
    require((x->shape[2 + i] + 2 * pads[i] - extent) / strides[i] + 1 ==
            y->shape[2 + i]);
  }
  if (sum)
    require(sum->shape == y->shape && bias->shape[1] == y->shape[1] &&
            bias->count() == y->shape[1]);
}

/// Calls visit(index in y, in x, in w) for every product of the convolution.
template <typename Visit>
void Graph::forEachProduct(Visit visit) const {
  size_t dims = x->shape.size() - 2;
  int64_t groups = x->shape[1] / w->shape[1];
  std::vector<int64_t> yAt(y->shape.size(), 0);
  do {
    std::vector<int64_t> window = w->shape, at(w->shape.size(), 0);
    window[0] = 1; // The filter is that of y's channel.
    do {
      std::vector<int64_t> wAt = at, xAt = at;
      wAt[0] = yAt[1];
      xAt[0] = yAt[0];
      xAt[1] = yAt[1] / (w->shape[0] / groups) * w->shape[1] + at[1];
      bool isInside = true;
      for (size_t i = 0; i != dims; ++i) {
        int64_t place =
            yAt[2 + i] * strides[i] - pads[i] + at[2 + i] * dilations[i];
        isInside &= place >= 0 && place < x->shape[2 + i];
        xAt[2 + i] = place;
      }
      if (isInside)
        visit(y->at(yAt), x->at(xAt), w->at(wAt));
    } while (advance(at, window));
  } while (advance(yAt, y->shape));
}

static float load(const char *data, cudnnDataType_t type, int64_t index) {
  uint16_t bits = 0;
  float value = 0;
  if (type == CUDNN_DATA_FLOAT) {
    std::memcpy(&value, data + 4 * index, 4);
    return value;
  }
  std::memcpy(&bits, data + 2 * index, 2);
  if (type == CUDNN_DATA_BFLOAT16) {
    uint32_t wide = uint32_t{bits} << 16;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  _Float16 half;
  std::memcpy(&half, &bits, 2);
  return static_cast<float>(half);
}

/// As tensor cores take an f32: with 10 bits behind the point.
static float toTF32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static void store(char *data, cudnnDataType_t type, int64_t index,
                  float value) {
  if (type == CUDNN_DATA_FLOAT) {
    std::memcpy(data + 4 * index, &value, 4);
  } else if (type == CUDNN_DATA_BFLOAT16) {
    uint32_t wide;
    std::memcpy(&wide, &value, 4);
    auto high = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    std::memcpy(data + 2 * index, &high, 2);
  } else {
    auto half = static_cast<_Float16>(value);
    std::memcpy(data + 2 * index, &half, 2);
  }
}

void Graph::run(const std::map<int64_t, void *> &addresses, bool tf32) const {
  auto factor = [&](const char *data, const Tensor &tensor, int64_t at) {
    float value = load(data, tensor.type, at);
    return tf32 && tensor.type == CUDNN_DATA_FLOAT ? toTF32(value) : value;
  };
  auto hostOf = [&](const Tensor &tensor) {
    return emulated::privateAddress(DevicePointer(addresses.at(tensor.number)),
                                    nullptr);
  };
  bool isForward =
      type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  bool isOfData =
      type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const Tensor &result = isForward ? (sum ? *sum : *y) : isOfData ? *x : *w;
  std::vector<double> sums(static_cast<size_t>(result.count()), 0);
  const char *xData = isOfData ? nullptr : hostOf(*x);
  const char *wData = !isForward && !isOfData ? nullptr : hostOf(*w);
  const char *yData = isForward ? nullptr : hostOf(*y);
  forEachProduct([&](int64_t yAt, int64_t xAt, int64_t wAt) {
    if (isForward)
      sums[yAt] += factor(xData, *x, xAt) * factor(wData, *w, wAt);
    else if (isOfData)
      sums[xAt] += factor(yData, *y, yAt) * factor(wData, *w, wAt);
    else
      sums[wAt] += factor(yData, *y, yAt) * factor(xData, *x, xAt);
  });
  char *data = hostOf(result);
  const char *row = bias ? hostOf(*bias) : nullptr;
  int64_t plane = result.strides[1];
  for (int64_t i = 0; i != result.count(); ++i) {
    auto value = static_cast<float>(alpha * sums[static_cast<size_t>(i)]);
    if (beta != 0)
      value += beta * load(data, result.type, i);
    if (row)
      value += load(row, bias->type, i / plane % result.shape[1]);
    store(data, result.type, i, value);
  }
}

std::string Graph::describe() const {
  const char *kind =
      type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
          ? "convolution"
      : type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
          ? "gradient of data"
          : "gradient of filters";
  return text(kind, bias ? " with a bias" : "",
              beta != 0 ? " added to its result" : "");
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

namespace {
struct Engine {
  int64_t workspace;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool isSupported;

  bool usesTensorCores() const {
    return std::find(notes.begin(), notes.end(),
                     CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
  }
};
} // namespace

/// In the order in which they are proposed.
static const std::vector<Engine> &engines() {
  static const auto *all = new std::vector<Engine>{
      {0, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, true},
      {0, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, true},
      {4096, {}, true},
      {0, {}, false},
      {int64_t{1} << 40, {}, true},
      {0, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, true}};
  return *all;
}

static constexpr auto engineNumber = CUDNN_ATTR_ENGINE_GLOBAL_INDEX;

/// Of this thread, as cuDNN keeps it.
static thread_local std::string lastError;

template <typename Body>
static cudnnStatus_t guarded(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    lastError = error.what();
    return CUDNN_STATUS_BAD_PARAM;
  }
}

/// What finalizing a description checks.
static cudnnStatus_t finish(Descriptor &own) {
  switch (own.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    (void)Tensor(own);
    break;
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: {
    (void)own.get<void *>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    Graph graph(own);
    const char *refused = std::getenv("SOAP_CUDNN_REFUSES");
    if (graph.bias && refused && std::strcmp(refused, "bias") == 0)
      return CUDNN_STATUS_NOT_SUPPORTED;
    // cuDNN 9.19 has hardly an engine for 16-bit factors with another result.
    if (graph.hasTwoTypes())
      return CUDNN_STATUS_NOT_SUPPORTED;
    break;
  }
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
    const Descriptor &config =
        own.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const Descriptor &engine = config.part(CUDNN_ATTR_ENGINECFG_ENGINE);
    int64_t number = engine.get<int64_t>(engineNumber);
    const Engine &chosen = engines()[static_cast<size_t>(number)];
    const char *refused = std::getenv("SOAP_CUDNN_REFUSES");
    bool refusesF32 = refused && std::strcmp(refused, "f32") == 0;
    if (!chosen.isSupported || (refusesF32 && !chosen.usesTensorCores()))
      return CUDNN_STATUS_NOT_SUPPORTED;
    break;
  }
  default:
    break;
  }
  own.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

static Descriptor *makeConfig(void *graph, int64_t number, Descriptor *config) {
  auto *engine = new Descriptor{CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}, true};
  auto put = [](Descriptor &own, cudnnBackendAttributeName_t name,
                const void *value) {
    const char *bytes = static_cast<const char *>(value);
    own.attributes[name].assign(bytes, bytes + 8);
  };
  put(*engine, engineNumber, &number);
  put(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, &graph);
  put(*config, CUDNN_ATTR_ENGINECFG_ENGINE, &engine);
  config->isFinal = true;
  return config;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

size_t cudnnGetVersion() {
  const char *version = std::getenv("SOAP_CUDNN_VERSION");
  return version ? std::strtoull(version, nullptr, 10) : CUDNN_VERSION;
}
const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM"
                                          : "CUDNN_STATUS_OF_ANOTHER_KIND";
}
void cudnnGetLastErrorString(char *message, size_t size) {
  std::snprintf(message, size, "%s", lastError.c_str());
}
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type, {}, false};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t own) {
  delete static_cast<Descriptor *>(own);
  return CUDNN_STATUS_SUCCESS;
}

static size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default:
    return 4;
  }
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *elements) {
  auto &own = *static_cast<Descriptor *>(handle);
  if (own.isFinal || count < 0 || !elements)
    return CUDNN_STATUS_BAD_PARAM;
  const char *bytes = static_cast<const char *>(elements);
  own.attributes[name].assign(bytes, bytes + static_cast<size_t>(count) *
                                                 sizeOf(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return guarded([&] { return finish(*static_cast<Descriptor *>(handle)); });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t,
                                       int64_t requested, int64_t *count,
                                       void *elements) {
  const auto &own = *static_cast<const Descriptor *>(handle);
  return guarded([&] {
    if (!own.isFinal)
      return CUDNN_STATUS_BAD_PARAM;
    auto engineOf = [&](const Descriptor &engine) -> const Engine & {
      return engines()[static_cast<size_t>(engine.get<int64_t>(engineNumber))];
    };
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      *count = static_cast<int64_t>(engines().size());
      void *graph = own.get<void *>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      auto **configs = static_cast<Descriptor **>(elements);
      for (int64_t i = 0; i < std::min(requested, *count); ++i)
        makeConfig(graph, i, configs[i]);
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      auto *engine = *static_cast<Descriptor **>(elements);
      *engine = own.part(name);
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      const Engine &engine = engineOf(own);
      *count = static_cast<int64_t>(engine.notes.size());
      if (*count > requested)
        return CUDNN_STATUS_BAD_PARAM;
      std::copy(engine.notes.begin(), engine.notes.end(),
                static_cast<cudnnBackendNumericalNote_t *>(elements));
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t *>(elements) =
          engineOf(own.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                       .part(CUDNN_ATTR_ENGINECFG_ENGINE))
              .workspace;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t planHandle,
                                  cudnnBackendDescriptor_t dataHandle) {
  return guarded([&] {
    const auto &plan = *static_cast<Descriptor *>(planHandle);
    const auto &data = *static_cast<Descriptor *>(dataHandle);
    const Descriptor &engine =
        plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
            .part(CUDNN_ATTR_ENGINECFG_ENGINE);
    auto number = static_cast<size_t>(engine.get<int64_t>(engineNumber));
    if (engines()[number].workspace &&
        !data.get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
      throw std::runtime_error("a plan without its workspace");
    struct Run {
      Graph graph;
      std::map<int64_t, void *> addresses;
      bool tf32;
    };
    // Never deleted: a graph may run it again.
    auto *run = new Run{Graph(engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)),
                        {},
                        engines()[number].usesTensorCores()};
    auto tensors = data.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    auto places = data.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i != tensors.size(); ++i)
      run->addresses[tensors[i]] = places.at(i);
    standin::log(text(run->graph.describe(), ", engine ", number));
    auto call = [](void *given) {
      const auto &own = *static_cast<const Run *>(given);
      if (!standin::isIdle())
        own.graph.run(own.addresses, own.tf32);
    };
    return cuLaunchHostFunc(handle->stream, call, run) == CUDA_SUCCESS
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  });
}
