//===- CopyKernel.cpp - Copies of boxes within a GPU ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CopyKernel.h"
#include "CUDA/Grid.h"
#include "CUDA/Stream.h"
#include <mutex>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// The arguments of a launch, as copyKernelText() declares them. Dims are
/// innermost first.
struct Arguments {
  uint64_t from, to;
  uint32_t count;   ///< Elements of all runs.
  uint32_t run;     ///< Elements of one run.
  uint32_t rank;    ///< At most CopyKernel::kDims.
  uint32_t padding; ///< The dims lie at a multiple of 8.
  struct {
    int64_t fromStride, toStride; ///< In bytes.
    uint32_t extent, padding;
  } dims[CopyKernel::kDims];
};
} // namespace

/// Thread i copies element i, i + (number of threads), ...: it takes the index
/// apart from the innermost dim outwards, in 32-bit arithmetic.
static std::string entryText(unsigned logWidth) {
  static const char *const loads[] = {"u8 %rs, ", "u16 %rs, ", "u32 %value, ",
                                      "u64 %long, ", "v2.u64 {%long, %high}, "};
  static const char *const stores[] = {", %rs", ", %rs", ", %value", ", %long",
                                       ", {%long, %high}"};
  static const char *const types[] = {"u8", "u16", "u32", "u64", "v2.u64"};
  std::string text = runtime::text(
      ".visible .entry soap_copy_", 1U << logWidth,
      "(.param .align 8 .b8 arguments[", sizeof(Arguments), "])\n", R"({
  .reg .pred %done, %last;
  .reg .b16 %rs;
  .reg .b32 %i, %count, %run, %rank, %rest, %index, %extent, %q, %value;
  .reg .b32 %d;
  .reg .b64 %from, %to, %source, %target, %long, %high, %wide, %stride;
  ld.param.u64 %from, [arguments];
  ld.param.u64 %to, [arguments+8];
  ld.param.u32 %count, [arguments+16];
  ld.param.u32 %run, [arguments+20];
  ld.param.u32 %rank, [arguments+24];
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %to, %to;
)",
      gridText, R"(  mov.u32 %i, %number;
$element:
  setp.ge.u32 %done, %i, %count;
  @%done bra $end;
  div.u32 %rest, %i, %run;
  mul.lo.u32 %q, %rest, %run;
  sub.u32 %index, %i, %q;
)",
      "  mul.wide.u32 %wide, %index, ", 1U << logWidth,
      ";\n  add.u64 %source, %from, %wide;\n  add.u64 %target, %to, %wide;\n");
  constexpr size_t first = offsetof(Arguments, dims);
  constexpr size_t size = sizeof(Arguments::dims[0]);
  for (size_t d = 0; d != CopyKernel::kDims; ++d) {
    size_t at = first + d * size;
    text += runtime::text("  setp.le.u32 %last, %rank, ", d,
                          ";\n  @%last bra $move;\n",
                          "  ld.param.u32 %extent, [arguments+", at + 16,
                          "];\n", R"(  div.u32 %d, %rest, %extent;
  mul.lo.u32 %q, %d, %extent;
  sub.u32 %index, %rest, %q;
  mov.u32 %rest, %d;
  cvt.u64.u32 %wide, %index;
)",
                          "  ld.param.s64 %stride, [arguments+", at,
                          "];\n  mad.lo.s64 %source, %wide, %stride, %source;\n"
                          "  ld.param.s64 %stride, [arguments+",
                          at + 8,
                          "];\n  mad.lo.s64 %target, %wide, %stride, "
                          "%target;\n");
  }
  text += runtime::text("$move:\n  ld.global.", loads[logWidth],
                        "[%source];\n  st.global.", types[logWidth],
                        " [%target]", stores[logWidth], R"(;
  add.u32 %q, %i, %all;
  setp.lt.u32 %last, %q, %i;
  mov.u32 %i, %q;
  @%last bra $end;
  bra $element;
$end:
  ret;
}
)");
  return text;
}

std::string cuda::copyKernelText() {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  for (unsigned logWidth = 0; logWidth != 5; ++logWidth)
    text += entryText(logWidth);
  return text;
}

CopyKernel::CopyKernel(const Gpu &gpu)
    : module_(gpu, copyKernelText().c_str(), "the runtime's copies") {
  for (unsigned logWidth = 0; logWidth != 5; ++logWidth)
    functions_[logWidth] =
        module_.find("soap_copy_" + std::to_string(1U << logWidth));
}

const CopyKernel &CopyKernel::of(const Gpu &gpu) {
  static std::mutex mutex;
  // Never destroyed: the driver may end before the program does.
  static auto *all = new std::map<int, std::unique_ptr<CopyKernel>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<CopyKernel> &own = (*all)[gpu.ordinal];
  if (!own)
    own = std::make_unique<CopyKernel>(gpu);
  return *own;
}

void CopyKernel::launch(CudaStream &stream, const StridedCopy &box,
                        DevicePointer from, DevicePointer to) const {
  // The widest element that all addresses are multiples of.
  uint64_t all =
      box.run | (from.value() + box.fromOffset) | (to.value() + box.toOffset);
  for (size_t d = 0; d != box.extents.size(); ++d)
    all |= static_cast<uint64_t>(box.fromStrides[d] | box.toStrides[d]);
  unsigned logWidth = 0;
  while (logWidth != 4 && all % (uint64_t{2} << logWidth) == 0)
    ++logWidth;

  constexpr uint64_t most = UINT32_MAX;
  auto outermost = static_cast<uint64_t>(box.extents[0]);
  uint64_t elements = box.bytes() >> logWidth;
  if (box.extents.size() > kDims || elements > most) {
    // One launch for every index of the outermost dim.
    StridedCopy part = box;
    part.extents.erase(part.extents.begin());
    part.fromStrides.erase(part.fromStrides.begin());
    part.toStrides.erase(part.toStrides.begin());
    for (uint64_t i = 0; i != outermost; ++i) {
      stream.copy(part, from, to);
      part.fromOffset += static_cast<uint64_t>(box.fromStrides[0]);
      part.toOffset += static_cast<uint64_t>(box.toStrides[0]);
    }
    return;
  }
  Arguments arguments = {};
  arguments.from = from.value() + box.fromOffset;
  arguments.to = to.value() + box.toOffset;
  arguments.count = static_cast<uint32_t>(elements);
  arguments.run = static_cast<uint32_t>(box.run >> logWidth);
  arguments.rank = static_cast<uint32_t>(box.extents.size());
  for (size_t d = 0; d != box.extents.size(); ++d) {
    auto &dim = arguments.dims[box.extents.size() - 1 - d];
    dim.extent = static_cast<uint32_t>(box.extents[d]);
    dim.fromStride = box.fromStrides[d];
    dim.toStride = box.toStrides[d];
  }
  void *parameters[] = {&arguments};
  stream.launch(functions_[logWidth], blocksFor(stream.gpu(), elements),
                kGridThreads, parameters);
}
