//===- WidenKernel.cpp - 16-bit floats to f32, with a bias ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/WidenKernel.h"
#include "CUDA/Grid.h"
#include "CUDA/Stream.h"
#include <map>
#include <mutex>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// The arguments of a launch, as the text declares them.
struct Arguments {
  uint64_t from, to;
  uint64_t bias;   ///< 0: there is none.
  uint32_t groups; ///< Of elements that a thread widens at a time.
  uint32_t plane;  ///< Groups of a channel that follow one another.
  uint32_t channels;
  uint32_t padding;
};
} // namespace

/// `count` registers, as a vector where there are several.
static std::string registers(const char *name, unsigned count) {
  if (count == 1)
    return text(name, 0);
  std::string list;
  for (unsigned i = 0; i != count; ++i)
    list += text(i ? ", " : "{", name, i);
  return list + '}';
}

static std::string entryText(fb::ElementType element, unsigned width) {
  std::string vector = width == 4 ? ".v4" : "";
  std::string result =
      text(".visible .entry soap_widen_", width,
           "(.param .align 8 .b8 arguments[", sizeof(Arguments), R"(])
{
  .reg .pred %done, %isBare;
  .reg .b16 %h0, %h1, %h2, %h3;
  .reg .f32 %f0, %f1, %f2, %f3, %b;
  .reg .b32 %i, %groups, %plane, %channels, %q, %bits;
  .reg .b64 %from, %to, %bias, %place, %offset;
  ld.param.u64 %from, [arguments];
  ld.param.u64 %to, [arguments+8];
  ld.param.u64 %bias, [arguments+16];
  ld.param.u32 %groups, [arguments+24];
  ld.param.u32 %plane, [arguments+28];
  ld.param.u32 %channels, [arguments+32];
  setp.eq.u64 %isBare, %bias, 0;
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %to, %to;
  cvta.to.global.u64 %bias, %bias;
)",
           gridText, R"(  mov.u32 %i, %number;
$group:
  setp.ge.u32 %done, %i, %groups;
  @%done bra $end;
  mul.wide.u32 %offset, %i, )",
           2 * width, ";\n  add.u64 %place, %from, %offset;\n  ld.global",
           vector, ".u16 ", registers("%h", width), ", [%place];\n");
  for (unsigned i = 0; i != width; ++i)
    result += element == fb::ElementType::F16
                  ? text("  cvt.f32.f16 %f", i, ", %h", i, ";\n")
                  : text("  cvt.u32.u16 %bits, %h", i,
                         ";\n  shl.b32 %bits, %bits, 16;\n  mov.b32 %f", i,
                         ", %bits;\n");
  result += R"(  @%isBare bra $store;
  div.u32 %q, %i, %plane;
  rem.u32 %q, %q, %channels;
  mul.wide.u32 %offset, %q, 4;
  add.u64 %place, %bias, %offset;
  ld.global.f32 %b, [%place];
)";
  for (unsigned i = 0; i != width; ++i)
    result += text("  add.rn.f32 %f", i, ", %f", i, ", %b;\n");
  return result + text("$store:\n  mul.wide.u32 %offset, %i, ", 4 * width,
                       ";\n  add.u64 %place, %to, %offset;\n  st.global",
                       vector, ".f32 [%place], ", registers("%f", width),
                       ";\n  add.u32 %i, %i, %all;\n  bra $group;\n"
                       "$end:\n  ret;\n}\n");
}

std::string cuda::widenKernelText(fb::ElementType element) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n" +
         entryText(element, 1) + entryText(element, 4);
}

WidenKernel::WidenKernel(const Gpu &gpu, fb::ElementType element)
    : module_(gpu, widenKernelText(element).c_str(),
              "the runtime's conversions"),
      one_(module_.find("soap_widen_1")), four_(module_.find("soap_widen_4")) {}

const WidenKernel &WidenKernel::of(const Gpu &gpu, fb::ElementType element) {
  static std::mutex mutex;
  // Never destroyed: the driver may end before the program does.
  static auto *all = new std::map<std::pair<int, fb::ElementType>,
                                  std::unique_ptr<WidenKernel>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<WidenKernel> &own = (*all)[{gpu.ordinal, element}];
  if (!own)
    own = std::make_unique<WidenKernel>(gpu, element);
  return *own;
}

void WidenKernel::launch(CudaStream &stream, const Work &work,
                         DevicePointer from, std::optional<DevicePointer> bias,
                         DevicePointer to) const {
  if (work.count == 0)
    return;
  unsigned width = work.plane % 4 == 0 ? 4 : 1;
  Arguments arguments = {};
  arguments.from = from.value();
  arguments.to = to.value();
  arguments.bias = bias ? bias->value() : 0;
  arguments.groups = static_cast<uint32_t>(work.count / width);
  arguments.plane = static_cast<uint32_t>(work.plane / width);
  arguments.channels = static_cast<uint32_t>(work.channels);
  void *parameters[] = {&arguments};
  stream.launch(width == 4 ? four_ : one_,
                blocksFor(stream.gpu(), arguments.groups), kGridThreads,
                parameters);
}
