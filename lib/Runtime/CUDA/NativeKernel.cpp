//===- NativeKernel.cpp - Kernels of a model's own PTX --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CudaKernels.h"
#include "CUDA/Fastest.h"
#include "CUDA/Grid.h"
#include "CUDA/Product.h"
#include "CUDA/Stream.h"

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// A product in the kernel, and what the library proposes for it.
struct LibraryProduct {
  std::shared_ptr<const Product> product;
  std::vector<Product::Algorithm> proposals;
  uint64_t resultBytes; ///< Of all matrices of the result, and what is between.
};

/// One function of the model's code with its arguments, or a product.
struct BoundLaunch {
  CUfunction function;
  unsigned blocks, threads;
  std::vector<uint64_t> arguments; ///< Each is 64 bits wide.
  std::vector<void *> addresses;   ///< Of the arguments.

  std::shared_ptr<const Product> product;
  Product::Algorithm algorithm;
  Product::Matrices matrices;
  bool adds;
};

class BoundNative final : public BoundKernel {
public:
  BoundNative(std::vector<BoundLaunch> launches, DevicePointer workspace)
      : launches_(std::move(launches)), workspace_(workspace) {
    for (BoundLaunch &launch : launches_)
      for (uint64_t &argument : launch.arguments)
        launch.addresses.push_back(&argument);
  }
  void enqueue(Stream &stream) override {
    auto &own = static_cast<CudaStream &>(stream);
    own.gpu().use();
    for (BoundLaunch &launch : launches_)
      if (launch.product)
        launch.product->enqueue(own.handle(), launch.algorithm, launch.matrices,
                                workspace_, launch.adds);
      else
        own.launch(launch.function, launch.blocks, launch.threads,
                   launch.addresses.data());
  }

private:
  std::vector<BoundLaunch> launches_;
  DevicePointer workspace_;
};

class NativeKernel final : public Kernel {
public:
  NativeKernel(CudaDevice &device, const fb::Kernel &kernel,
               const NativeCode &native);
  size_t scratchpadBytes() const override;
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override;

private:
  unsigned blocksOf(const fb::DeviceLaunch &launch,
                    const std::vector<int64_t> &sizes) const;
  void bindProduct(const fb::DeviceLaunch &row, const Binding &binding,
                   BoundLaunch &launch) const;
  /// Where the library's scratch memory begins.
  uint64_t workspaceOffset() const {
    constexpr uint64_t alignment = 256;
    return (native_.description->scratch_bytes() + alignment - 1) / alignment *
           alignment;
  }

  CudaDevice &device_;
  const fb::Kernel &kernel_;
  NativeCode native_;
  std::vector<LibraryProduct> products_;
};
} // namespace

static ProductShape shapeOf(const fb::DeviceProduct &product) {
  const fb::ProductMatrix &a = *product.a(), &b = *product.b(),
                          &c = *product.c();
  ProductShape shape;
  shape.m = product.rows();
  shape.n = product.columns();
  shape.k = product.depth();
  shape.batch = product.batch();
  shape.transposeA = a.column() != 1;
  shape.transposeB = b.column() != 1;
  shape.aLeading = shape.transposeA ? a.column() : a.row();
  shape.bLeading = shape.transposeB ? b.column() : b.row();
  shape.yLeading = c.row();
  shape.aStride = a.apart();
  shape.bStride = b.apart();
  shape.yStride = c.apart();
  shape.tf32 = product.tf32();
  return shape;
}

NativeKernel::NativeKernel(CudaDevice &device, const fb::Kernel &kernel,
                           const NativeCode &native)
    : device_(device), kernel_(kernel), native_(native) {
  auto rows = items(native.description->products());
  implementation_ = rows.size() == 0 ? "native" : "native, cublasLt";
  for (uint32_t index = 0; index != rows.size(); ++index) {
    const fb::DeviceProduct &row = *rows[index];
    ProductShape shape = shapeOf(row);
    LibraryProduct product;
    product.product = std::make_shared<const Product>(device.gpu(), shape);
    // All launches of the product begin at multiples of these.
    Product::Alignment alignment;
    for (const fb::DeviceLaunch *launch : items(native.description->launches()))
      if (launch->product() == static_cast<int32_t>(index)) {
        const auto &places = *launch->constants();
        alignment.add(places[0], places[1], places[2]);
      }
    product.proposals = product.product->propose(
        native.description->workspace_bytes(), alignment);
    if (product.proposals.empty())
      invalid("expected a product that cuBLASLt computes in kernel '",
              kernel.key()->str(), "', got: one of ", shape.m, " x ", shape.k,
              " and ", shape.k, " x ", shape.n,
              " that it has no algorithm for");
    product.resultBytes =
        static_cast<uint64_t>((shape.batch - 1) * shape.yStride +
                              (shape.m - 1) * shape.yLeading + shape.n) *
        sizeof(float);
    products_.push_back(std::move(product));
  }
}

size_t NativeKernel::scratchpadBytes() const {
  size_t workspace = 0;
  for (const LibraryProduct &product : products_)
    for (const Product::Algorithm &proposal : product.proposals)
      workspace = std::max(workspace, proposal.workspaceSize);
  if (workspace == 0)
    return native_.description->scratch_bytes();
  return workspaceOffset() + workspace;
}

void NativeKernel::bindProduct(const fb::DeviceLaunch &row,
                               const Binding &binding,
                               BoundLaunch &launch) const {
  auto index = static_cast<uint32_t>(row.product());
  const fb::DeviceProduct &description =
      *native_.description->products()->Get(index);
  const LibraryProduct &own = products_[index];
  auto at = [&](const fb::ProductMatrix &matrix, unsigned constant) {
    size_t operands = binding.operands.size();
    DevicePointer buffer = binding.scratchpad;
    if (matrix.buffer() < operands)
      buffer = binding.operands[matrix.buffer()];
    else if (matrix.buffer() < operands + binding.results.size())
      buffer = binding.results[matrix.buffer() - operands];
    return buffer + static_cast<uint64_t>(row.constants()->Get(constant));
  };
  launch.product = own.product;
  launch.matrices = {at(*description.a(), 0), at(*description.b(), 1),
                     at(*description.c(), 2)};
  launch.adds = description.adds();
  auto run = [&](CudaStream &stream, size_t proposal, DevicePointer result) {
    own.product->enqueue(stream.handle(), own.proposals[proposal],
                         {launch.matrices.a, launch.matrices.b, result},
                         binding.scratchpad + workspaceOffset(),
                         /*adds=*/false);
  };
  launch.algorithm = own.proposals[fastestProposal(
      device_,
      text(kernel_.key()->str(), " product ", index, ' ',
           native_.description->workspace_bytes()),
      own.resultBytes, own.proposals.size(), run)];
}

unsigned NativeKernel::blocksOf(const fb::DeviceLaunch &launch,
                                const std::vector<int64_t> &sizes) const {
  uint64_t blocks = launch.blocks();
  if (blocks == 0) {
    uint64_t count = 1;
    for (uint32_t i = 0; i != native_.description->size_count(); ++i)
      if (__builtin_mul_overflow(count, static_cast<uint64_t>(sizes[i]),
                                 &count))
        count = UINT64_MAX;
    uint64_t items = launch.items_per_block();
    blocks = count / items + (count % items != 0);
  }
  return blocksWithin(device_.gpu(), blocks);
}

std::unique_ptr<BoundKernel> NativeKernel::bind(const Binding &binding) {
  std::vector<BoundLaunch> launches;
  uint32_t sizes = native_.description->size_count();
  for (const fb::DeviceLaunch *row : items(native_.description->launches())) {
    BoundLaunch &launch = launches.emplace_back();
    if (row->product() >= 0) {
      bindProduct(*row, binding, launch);
      continue;
    }
    launch.function = device_.module(*native_.device).find(row->entry()->str());
    launch.threads = row->threads();
    launch.blocks = blocksOf(*row, binding.sizes);
    for (const auto *list : {&binding.operands, &binding.results})
      for (DevicePointer buffer : *list)
        launch.arguments.push_back(buffer.value());
    if (native_.description->scratch_bytes())
      launch.arguments.push_back(binding.scratchpad.value());
    for (uint32_t i = 0; i != sizes; ++i)
      launch.arguments.push_back(static_cast<uint64_t>(binding.sizes[i]));
    for (int64_t constant : items(row->constants()))
      launch.arguments.push_back(static_cast<uint64_t>(constant));
  }
  return std::make_unique<BoundNative>(std::move(launches),
                                       binding.scratchpad + workspaceOffset());
}

std::unique_ptr<Kernel> cuda::makeNativeKernel(CudaDevice &device,
                                               const fb::Kernel &kernel,
                                               const NativeCode &native) {
  if (!native.device || !native.description)
    invalid("expected code for a GPU of kernel '", kernel.key()->str(),
            "', got: code for the host; compile the model with --target=cuda");
  return std::make_unique<NativeKernel>(device, kernel, native);
}
