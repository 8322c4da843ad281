//===- ConvolutionKernel.cpp - Convolutions by cuDNN ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Convolution.h"
#include "CUDA/CudaKernels.h"
#include "CUDA/Fastest.h"
#include "CUDA/MatMulShape.h"
#include "CUDA/Stream.h"
#include "CUDA/WidenKernel.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

using Adds = ConvolutionPlans::Adds;

namespace {
/// A result that the library computes in 16 bits, in scratch memory, and that
/// is then widened to f32: it has hardly an engine that multiplies 16-bit
/// floats to f32. It sums in f32 nevertheless, and rounds once.
struct Widening {
  fb::ElementType element;
  WidenKernel::Work work;
  bool hasBias; ///< A bias of f32 is added then.

  /// Of the scratch memory; what follows lies at a multiple of 256.
  uint64_t bytes() const { return (2 * work.count + 255) / 256 * 256; }
};

class BoundConvolution final : public BoundKernel {
public:
  BoundConvolution(std::shared_ptr<const ConvolutionPlans> plans, size_t plan,
                   CudnnDescriptor data, const Binding &binding,
                   std::optional<StridedCopy> bias,
                   std::optional<Widening> widening)
      : plans_(std::move(plans)), plan_(plan), data_(std::move(data)),
        binding_(binding), bias_(std::move(bias)), widening_(widening) {}

  void enqueue(Stream &stream) override {
    auto &own = static_cast<CudaStream &>(stream);
    if (bias_)
      own.copy(*bias_, binding_.operands[2],
               widening_ ? binding_.scratchpad : binding_.results[0]);
    plans_->enqueue(own.handle(), plan_, data_);
    if (!widening_)
      return;
    std::optional<DevicePointer> row;
    if (widening_->hasBias)
      row = binding_.operands[2];
    WidenKernel::of(own.gpu(), widening_->element)
        .launch(own, widening_->work, binding_.scratchpad, row,
                binding_.results[0]);
  }

private:
  std::shared_ptr<const ConvolutionPlans> plans_;
  size_t plan_;
  CudnnDescriptor data_;
  Binding binding_;
  std::optional<StridedCopy> bias_; ///< Where no plan adds it.
  std::optional<Widening> widening_;
};

class ConvolutionKernel final : public Kernel {
public:
  ConvolutionKernel(CudaDevice &device, const fb::Kernel &kernel,
                    ConvolutionShape shape)
      : device_(device), kernel_(kernel), shape_(std::move(shape)) {
    implementation_ = "cudnn";
    const fb::Conv *op = kernel.op_as_Conv();
    bool hasBias = op && op->bias();
    if (shape_.result != shape_.factors) {
      bool isWide = hasBias && kernel.operands()->Get(2)->element() ==
                                   fb::ElementType::F32;
      widen(isWide);
      hasBias &= !isWide;
    }
    plans_ = propose(hasBias ? Adds::Bias : Adds::Nothing);
    if (hasBias && plans_->size() == 0) {
      plans_ = propose(Adds::Result);
      Shape row(shape_.y.size() - 1, 1);
      row[0] = shape_.y[1];
      bias_ = broadcast(row, shape_.y, elementSize(shape_.result));
    }
  }
  bool isSupported() const { return plans_->size() != 0; }
  size_t scratchpadBytes() const override {
    return (widening_ ? widening_->bytes() : 0) + plans_->workspaceBytes();
  }

  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    auto run = [&](CudaStream &stream, size_t plan, DevicePointer result) {
      plans_->enqueue(stream.handle(), plan, dataOf(plan, binding, result));
    };
    size_t plan = fastestProposal(device_, kernel_, plans_->size(), run);
    return std::make_unique<BoundConvolution>(
        plans_, plan,
        dataOf(plan, binding,
               widening_ ? binding.scratchpad : binding.results[0]),
        binding, bias_, widening_);
  }

private:
  /// The library's result is of the factors' type. `hasBias`: of f32.
  void widen(bool hasBias) {
    Shape y = toVector(kernel_.results()->Get(0)->shape());
    auto plane =
        static_cast<uint64_t>(elementCount(Shape(y.begin() + 2, y.end())));
    widening_ = Widening{shape_.factors,
                         {static_cast<uint64_t>(elementCount(y)), plane,
                          static_cast<uint64_t>(y[1])},
                         hasBias};
    if (widening_->work.count > WidenKernel::kMost)
      invalid("expected a convolution of 16-bit factors with a result of at "
              "most ",
              WidenKernel::kMost, " elements, got: ", widening_->work.count,
              " (key '", kernel_.key()->str(),
              "'); use more devices or a smaller batch");
    shape_.result = shape_.factors;
  }

  std::shared_ptr<const ConvolutionPlans> propose(Adds adds) const {
    constexpr uint64_t otherwise = uint64_t{32} << 20;
    uint64_t most = otherwise;
    if (uint64_t planned = kernel_.workspace_bytes())
      most = planned - std::min(planned, widening_ ? widening_->bytes() : 0);
    return std::make_shared<ConvolutionPlans>(device_.gpu(), shape_, adds,
                                              most);
  }

  CudnnDescriptor dataOf(size_t plan, const Binding &binding,
                         DevicePointer result) const {
    using Plans = ConvolutionPlans;
    std::vector<int64_t> tensors;
    switch (shape_.kind) {
    case ConvolutionShape::Forward:
      tensors = {Plans::X, Plans::W, Plans::Y};
      break;
    case ConvolutionShape::OfData:
      tensors = {Plans::Y, Plans::W, Plans::X};
      break;
    case ConvolutionShape::OfFilter:
      tensors = {Plans::X, Plans::Y, Plans::W};
      break;
    }
    std::vector<DevicePointer> pointers = {binding.operands[0],
                                           binding.operands[1], result};
    if (plans_->adds() == Adds::Bias) {
      tensors.push_back(Plans::BiasRow);
      pointers.push_back(binding.operands[2]);
    }
    std::vector<void *> addresses;
    for (DevicePointer pointer : pointers)
      addresses.push_back(reinterpret_cast<void *>(pointer.value()));
    DevicePointer workspace =
        binding.scratchpad + (widening_ ? widening_->bytes() : 0);
    return plans_->bind(plan, tensors, addresses,
                        reinterpret_cast<void *>(workspace.value()));
  }

  CudaDevice &device_;
  const fb::Kernel &kernel_;
  ConvolutionShape shape_;
  std::optional<StridedCopy> bias_;
  std::optional<Widening> widening_;
  std::shared_ptr<const ConvolutionPlans> plans_;
};
} // namespace

std::unique_ptr<Kernel> cuda::makeConvolutionKernel(CudaDevice &device,
                                                    const fb::Kernel &kernel) {
  std::optional<ConvolutionShape> shape = ConvolutionShape::of(kernel);
  if (!shape)
    return nullptr;
  auto result =
      std::make_unique<ConvolutionKernel>(device, kernel, std::move(*shape));
  if (!result->isSupported())
    return nullptr;
  return result;
}
