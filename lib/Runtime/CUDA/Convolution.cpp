//===- Convolution.cpp - Convolutions as cuDNN describes them -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Convolution.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Shape shapeOf(const fb::TensorType *tensor) {
  return toVector(tensor->shape());
}

/// Adds a spatial dim of one element.
static void widen(Shape &shape) { shape.insert(shape.begin() + 2, 1); }

/// True if y is what windows give that begin `pads` before x and end as far
/// behind it at most.
static bool areConsistent(const ConvolutionShape &s) {
  size_t dims = s.x.size() - 2;
  if (s.strides.size() != dims || s.dilations.size() != dims ||
      s.pads.size() != dims)
    return false;
  for (size_t i = 0; i != dims; ++i) {
    int64_t extent = (s.w[2 + i] - 1) * s.dilations[i] + 1;
    int64_t room = s.x[2 + i] + 2 * s.pads[i] - extent;
    if (s.pads[i] < 0 || room < 0 || s.strides[i] < 1 ||
        room / s.strides[i] + 1 != s.y[2 + i])
      return false;
  }
  return s.x[0] == s.y[0] && s.w[0] == s.y[1] && s.w[1] > 0 &&
         s.x[1] % s.w[1] == 0;
}

std::optional<ConvolutionShape> ConvolutionShape::of(const fb::Kernel &kernel) {
  ConvolutionShape s;
  Shape first = shapeOf(kernel.operands()->Get(0));
  Shape second = shapeOf(kernel.operands()->Get(1));
  Shape result = shapeOf(kernel.results()->Get(0));
  s.factors = kernel.operands()->Get(0)->element();
  s.result = kernel.results()->Get(0)->element();
  for (uint32_t i = 1; i != kernel.operands()->size(); ++i) {
    fb::ElementType element = kernel.operands()->Get(i)->element();
    if (element != s.factors && (i == 1 || element != s.result))
      return std::nullopt;
  }
  bool isKnown = s.factors == fb::ElementType::F32 ||
                 s.factors == fb::ElementType::F16 ||
                 s.factors == fb::ElementType::BF16;
  if (!isKnown || (s.result != fb::ElementType::F32 && s.result != s.factors))
    return std::nullopt;
  auto take = [&](const auto &op) {
    s.strides = toVector(op.strides());
    s.dilations = toVector(op.dilations());
    s.pads = toVector(op.pads_lo());
    s.tf32 = op.tf32();
  };
  size_t operands = 2;
  if (const fb::Conv *op = kernel.op_as_Conv()) {
    take(*op);
    s.x = first;
    s.w = second;
    s.y = result;
    operands += op->bias();
  } else {
    const fb::ConvBackward *back = kernel.op_as_ConvBackward();
    take(*back);
    // A bias of x's gradient would be a row of it: such kernels are native.
    if (back->bias())
      return std::nullopt;
    s.kind = back->of_filter() ? OfFilter : OfData;
    s.x = back->of_filter() ? first : result;
    s.w = back->of_filter() ? result : second;
    s.y = back->of_filter() ? second : first;
  }
  if (kernel.operands()->size() != operands || s.x.size() < 3 ||
      s.x.size() > 5 || s.w.size() != s.x.size() || s.y.size() != s.x.size())
    return std::nullopt;
  if (s.x.size() == 3) {
    for (Shape *shape : {&s.x, &s.w, &s.y})
      widen(*shape);
    s.strides.insert(s.strides.begin(), 1);
    s.dilations.insert(s.dilations.begin(), 1);
    s.pads.insert(s.pads.begin(), 0);
  }
  if (!areConsistent(s))
    return std::nullopt;
  return s;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static cudnnDataType_t cudnnTypeOf(fb::ElementType element) {
  return element == fb::ElementType::F32   ? CUDNN_DATA_FLOAT
         : element == fb::ElementType::F16 ? CUDNN_DATA_HALF
                                           : CUDNN_DATA_BFLOAT16;
}

fb::ElementType ConvolutionPlans::elementOf(Tensor number) const {
  static constexpr Tensor results[] = {Y, X, W};
  return number == results[shape_.kind] || number == BiasRow ? shape_.result
                                                             : shape_.factors;
}

CudnnDescriptor ConvolutionPlans::makeTensor(Tensor number, const Shape &shape,
                                             bool isVirtual) const {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  cudnnDataType_t type =
      isVirtual ? CUDNN_DATA_FLOAT : cudnnTypeOf(elementOf(number));
  // Tensors are dense, the last dim innermost.
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
  constexpr int64_t alignment = 16;
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &isVirtual);
  tensor.finalize();
  return tensor;
}

namespace {
/// What an operation is called in the interface.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, windows, x, w, y;
};
} // namespace

static const OperationNames &namesOf(ConvolutionShape::Kind kind) {
  static constexpr OperationNames names[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};
  return names[kind];
}

CudnnDescriptor ConvolutionPlans::makeOperation(const ConvolutionShape &shape) {
  CudnnDescriptor windows(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnDataType_t computed = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
              &computed);
  windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              &mode);
  windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
              static_cast<int64_t>(shape.pads.size()));
  windows.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, shape.pads);
  windows.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, shape.pads);
  windows.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, shape.strides);
  windows.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, shape.dilations);
  windows.finalize();

  const OperationNames &names = namesOf(shape.kind);
  CudnnDescriptor operation(names.type);
  bool isFused = adds_ == Adds::Bias;
  CudnnDescriptor x = makeTensor(X, shape.x), w = makeTensor(W, shape.w);
  CudnnDescriptor y = makeTensor(isFused ? Product : Y, shape.y, isFused);
  float alpha = 1, beta = adds_ == Adds::Result ? 1 : 0;
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, &alpha);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, &beta);
  operation.set(names.windows, windows);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  operation.finalize();
  for (CudnnDescriptor *part : {&windows, &x, &w, &y})
    parts_.push_back(std::move(*part));
  return operation;
}

/// y = product + bias; the product is the last of the parts.
CudnnDescriptor ConvolutionPlans::makeAddition(const ConvolutionShape &shape) {
  CudnnDescriptor add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  cudnnDataType_t computed = CUDNN_DATA_FLOAT;
  add.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
  add.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &computed);
  add.finalize();
  Shape row(shape.y.size(), 1);
  row[1] = shape.y[1];
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  CudnnDescriptor bias = makeTensor(BiasRow, row), y = makeTensor(Y, shape.y);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, add);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_.back());
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  for (CudnnDescriptor *part : {&add, &bias, &y})
    parts_.push_back(std::move(*part));
  return operation;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

ConvolutionPlans::ConvolutionPlans(const Gpu &gpu,
                                   const ConvolutionShape &shape, Adds adds,
                                   uint64_t workspaceBytes)
    : gpu_(gpu), shape_(shape), adds_(adds) {
  cudnnHandle_t handle = cudnnHandle(gpu); // Loads the library.
  std::vector<CudnnDescriptor> operations;
  operations.push_back(makeOperation(shape));
  if (adds_ == Adds::Bias)
    operations.push_back(makeAddition(shape));
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const CudnnDescriptor &operation : operations)
    handles.push_back(operation.get());
  graph_.emplace(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              handles);
  for (CudnnDescriptor &operation : operations)
    parts_.push_back(std::move(operation));
  if (!graph_->tryFinalize())
    return;
  propose(CUDNN_HEUR_MODE_A, workspaceBytes);
  if (plans_.empty())
    propose(CUDNN_HEUR_MODE_FALLBACK, workspaceBytes);
}

/// True if an engine multiplies factors as they are, or as TF32 where the
/// model allows it, and does not sum in less than f32.
bool ConvolutionPlans::isPreciseEnough(const CudnnDescriptor &config) const {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  int64_t count = 0;
  checkCudnn(cudnn().cudnnBackendGetAttribute(
                 config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
             "to name an engine");
  std::vector<cudnnBackendNumericalNote_t> notes(
      CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  checkCudnn(cudnn().cudnnBackendGetAttribute(
                 handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                 CUDNN_TYPE_NUMERICAL_NOTE, static_cast<int64_t>(notes.size()),
                 &count, notes.data()),
             "to describe an engine");
  notes.resize(static_cast<size_t>(count));
  return std::none_of(
      notes.begin(), notes.end(), [&](cudnnBackendNumericalNote_t note) {
        // Tensor cores take f32 as TF32. Engines that convert their inputs to
        // still less say so by a note of its own.
        return note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
               note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
               (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
                shape_.factors == fb::ElementType::F32 && !shape_.tf32);
      });
}

void ConvolutionPlans::propose(cudnnBackendHeurMode_t mode,
                               uint64_t workspaceBytes) {
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  if (!heuristic.tryFinalize())
    return;
  // Of a graph that it has nothing for, the library may say so by an error.
  int64_t count = 0;
  if (cudnn().cudnnBackendGetAttribute(heuristic.get(),
                                       CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                       nullptr) != CUDNN_STATUS_SUCCESS ||
      count == 0)
    return;
  std::vector<cudnnBackendDescriptor_t> handles;
  size_t first = configs_.size();
  for (int64_t i = 0; i != count; ++i) {
    configs_.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs_.back().get());
  }
  if (cudnn().cudnnBackendGetAttribute(
          heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
          CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
          handles.data()) != CUDNN_STATUS_SUCCESS)
    return;
  constexpr size_t most = 6;
  cudnnHandle_t handle = cudnnHandle(gpu_);
  for (auto i = first; i != first + static_cast<size_t>(count); ++i) {
    if (plans_.size() == most || !isPreciseEnough(configs_[i]))
      continue;
    Plan plan{CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 0};
    plan.descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                        &handle);
    plan.descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs_[i]);
    if (!plan.descriptor.tryFinalize())
      continue;
    int64_t bytes = 0, got = 0;
    checkCudnn(cudnn().cudnnBackendGetAttribute(
                   plan.descriptor.get(),
                   CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                   1, &got, &bytes),
               "to tell what a plan needs");
    plan.workspaceBytes = static_cast<size_t>(bytes);
    if (plan.workspaceBytes <= workspaceBytes)
      plans_.push_back(std::move(plan));
  }
}

size_t ConvolutionPlans::workspaceBytes() const {
  size_t bytes = 0;
  for (const Plan &plan : plans_)
    bytes = std::max(bytes, plan.workspaceBytes);
  return bytes;
}

CudnnDescriptor ConvolutionPlans::bind(size_t plan,
                                       const std::vector<int64_t> &tensors,
                                       const std::vector<void *> &addresses,
                                       void *workspace) const {
  CudnnDescriptor data(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void *own = plans_[plan].workspaceBytes ? workspace : nullptr;
  data.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors);
  data.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           addresses);
  data.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &own);
  data.finalize();
  return data;
}

void ConvolutionPlans::enqueue(CUstream stream, size_t plan,
                               const CudnnDescriptor &data) const {
  gpu_.use();
  cudnnHandle_t handle = cudnnHandle(gpu_);
  checkCudnn(cudnn().cudnnSetStream(handle, stream), "to take a stream");
  checkCudnn(cudnn().cudnnBackendExecute(handle, plans_[plan].descriptor.get(),
                                         data.get()),
             "to enqueue a convolution");
}
