//===- JoinKernel.cpp - Joins of partial results within a GPU -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/JoinKernel.h"
#include "CUDA/Grid.h"
#include "CUDA/Stream.h"
#include <map>
#include <mutex>
#include <tuple>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
/// The arguments of a launch, as the text declares them.
struct Arguments {
  uint64_t count; ///< Elements.
  uint64_t target;
  uint64_t sources[JoinKernel::kSources];
  uint32_t sourceCount, padding;
};

/// How a type is kept in registers. A load widens it, a store narrows it.
struct Storage {
  const char *type;           ///< Of the arithmetic: "f32".
  const char *width;          ///< Of its registers: "f32", "b64".
  const char *memory;         ///< Of loads and stores: "u16".
  const char *widen, *narrow; ///< From and to what lies in memory; null: as is.
};
} // namespace

static const Storage *storageOf(fb::ElementType element) {
  static constexpr Storage f32 = {"f32", "f32", "f32", nullptr, nullptr};
  static constexpr Storage f64 = {"f64", "f64", "f64", nullptr, nullptr};
  static constexpr Storage f16 = {"f32", "f32", "u16", "cvt.f32.f16 $v, %half;",
                                  "cvt.rn.f16.f32 %half, $v;"};
  static constexpr Storage bf16 = {"f32", "f32", "u16",
                                   "cvt.u32.u16 %bits, %half;\n"
                                   "  shl.b32 %bits, %bits, 16;\n"
                                   "  mov.b32 $v, %bits;",
                                   "cvt.rn.bf16.f32 %half, $v;"};
  static constexpr Storage s8 = {"s32", "b32", "s8", nullptr, nullptr};
  static constexpr Storage s16 = {"s32", "b32", "s16", nullptr, nullptr};
  static constexpr Storage s32 = {"s32", "b32", "s32", nullptr, nullptr};
  static constexpr Storage s64 = {"s64", "b64", "s64", nullptr, nullptr};
  static constexpr Storage u8 = {"u32", "b32", "u8", nullptr, nullptr};
  static constexpr Storage u16 = {"u32", "b32", "u16", nullptr, nullptr};
  static constexpr Storage u32 = {"u32", "b32", "u32", nullptr, nullptr};
  static constexpr Storage u64 = {"u64", "b64", "u64", nullptr, nullptr};
  switch (element) {
  case fb::ElementType::F32:
    return &f32;
  case fb::ElementType::F64:
    return &f64;
  case fb::ElementType::F16:
    return &f16;
  case fb::ElementType::BF16:
    return &bf16;
  case fb::ElementType::I8:
    return &s8;
  case fb::ElementType::I16:
    return &s16;
  case fb::ElementType::I32:
    return &s32;
  case fb::ElementType::I64:
    return &s64;
  case fb::ElementType::U8:
  case fb::ElementType::Bool:
    return &u8;
  case fb::ElementType::U16:
    return &u16;
  case fb::ElementType::U32:
    return &u32;
  case fb::ElementType::U64:
    return &u64;
  default:
    return nullptr;
  }
}

/// Joins %x to %sum; "" for what is left to the host.
static std::string joinText(fb::Combine combine, const Storage &storage,
                            bool isBool) {
  std::string type = storage.type;
  bool isFloat = type[0] == 'f';
  auto order = [&](const char *how) {
    // Of the two, %x if it comes first or is none (NaN): as on the host.
    std::string text =
        "  setp." + std::string(how) + '.' + type + " %takes, %x, %sum;\n";
    if (isFloat)
      text += "  setp.nan." + type + " %isNan, %x, %x;\n" +
              "  or.pred %takes, %takes, %isNan;\n";
    return text + "  selp." + storage.width + " %sum, %x, %sum, %takes;\n";
  };
  switch (combine) {
  case fb::Combine::Sum:
    return (isFloat ? "  add.rn." : "  add.") + type + " %sum, %sum, %x;\n";
  case fb::Combine::Prod:
    return (isFloat ? "  mul.rn." : "  mul.lo.") + type + " %sum, %sum, %x;\n";
  case fb::Combine::Max:
    return order("gt");
  case fb::Combine::Min:
    return order("lt");
  case fb::Combine::And:
    return isBool ? "  and.b32 %sum, %sum, %x;\n" : "";
  case fb::Combine::Or:
    return isBool ? "  or.b32 %sum, %sum, %x;\n" : "";
  default:
    return "";
  }
}

/// `pattern` with a register in place of $v.
static std::string with(const char *pattern, const char *value) {
  std::string text = pattern;
  for (size_t at; (at = text.find("$v")) != std::string::npos;)
    text.replace(at, 2, value);
  return text;
}

/// Loads an element into `value`, or stores it.
static std::string moveText(const Storage &storage, const char *value,
                            bool isLoad) {
  const char *convert = isLoad ? storage.widen : storage.narrow;
  std::string memory = storage.memory, text;
  std::string moved = convert ? "%half" : value;
  if (isLoad)
    text = "  ld.global." + memory + ' ' + moved + ", [%place];\n";
  if (convert)
    text += "  " + with(convert, value) + '\n';
  if (!isLoad)
    text += "  st.global." + memory + " [%place], " + moved + ";\n";
  return text;
}

std::string cuda::joinKernelText(fb::Combine combine, fb::ElementType element) {
  const Storage *storage = storageOf(element);
  std::string join =
      storage ? joinText(combine, *storage, element == fb::ElementType::Bool)
              : "";
  if (join.empty())
    return "";
  auto bytes = elementSize(element);
  std::string text = runtime::text(
      ".version 7.0\n.target sm_80\n.address_size 64\n",
      ".visible .entry soap_join(.param .align 8 .b8 arguments[",
      sizeof(Arguments), "])\n{\n", R"(  .reg .pred %done, %takes, %isNan;
  .reg .b16 %half;
  .reg .b32 %bits, %sources;
  .reg .b64 %i, %step, %count, %offset, %base, %place;
)",
      "  .reg .", storage->width, " %sum, %x;\n",
      R"(  ld.param.u64 %count, [arguments];
  ld.param.u32 %sources, [arguments+)",
      offsetof(Arguments, sourceCount), R"(];
)",
      gridText, R"(  cvt.u64.u32 %i, %number;
  cvt.u64.u32 %step, %all;
$element:
  setp.ge.u64 %done, %i, %count;
  @%done bra $end;
  mul.lo.u64 %offset, %i, )",
      bytes, ";\n");
  auto place = [&](size_t argument) {
    text += runtime::text("  ld.param.u64 %base, [arguments+", argument,
                          "];\n  cvta.to.global.u64 %base, %base;\n"
                          "  add.u64 %place, %base, %offset;\n");
  };
  for (size_t s = 0; s != JoinKernel::kSources; ++s) {
    if (s != 0)
      text += runtime::text("  setp.le.u32 %done, %sources, ", s,
                            ";\n  @%done bra $store;\n");
    place(offsetof(Arguments, sources) + s * sizeof(uint64_t));
    text += moveText(*storage, s == 0 ? "%sum" : "%x", /*isLoad=*/true);
    if (s == 0)
      continue;
    text += join;
    // The host rounds after every member, too.
    if (storage->narrow)
      text += "  " + with(storage->narrow, "%sum") + "\n  " +
              with(storage->widen, "%sum") + '\n';
  }
  text += "$store:\n";
  place(offsetof(Arguments, target));
  text += moveText(*storage, "%sum", /*isLoad=*/false);
  return text + "  add.u64 %i, %i, %step;\n  bra $element;\n$end:\n  ret;\n}\n";
}

JoinKernel::JoinKernel(const Gpu &gpu, const std::string &text,
                       uint64_t elementBytes)
    : module_(gpu, text.c_str(), "the runtime's joins"),
      function_(module_.find("soap_join")), elementBytes_(elementBytes) {}

const JoinKernel *JoinKernel::of(const Gpu &gpu, fb::Combine combine,
                                 fb::ElementType element) {
  using Key = std::tuple<int, fb::Combine, fb::ElementType>;
  static std::mutex mutex;
  // Never destroyed: the driver may end before the program does.
  static auto *all = new std::map<Key, std::unique_ptr<JoinKernel>>;
  std::string text = joinKernelText(combine, element);
  if (text.empty())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<JoinKernel> &own = (*all)[{gpu.ordinal, combine, element}];
  if (!own)
    own = std::make_unique<JoinKernel>(gpu, text, elementSize(element));
  return own.get();
}

void JoinKernel::launch(CudaStream &stream,
                        const std::vector<DevicePointer> &sources,
                        DevicePointer target, uint64_t bytes) const {
  Arguments arguments = {};
  arguments.count = bytes / elementBytes_;
  if (arguments.count == 0)
    return;
  arguments.target = target.value();
  arguments.sourceCount = static_cast<uint32_t>(sources.size());
  for (size_t s = 0; s != sources.size(); ++s)
    arguments.sources[s] = sources[s].value();
  void *parameters[] = {&arguments};
  stream.launch(function_, blocksFor(stream.gpu(), arguments.count),
                kGridThreads, parameters);
}
