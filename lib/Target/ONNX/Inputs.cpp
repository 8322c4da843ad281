//===- Inputs.cpp - Initializers and inputs of a graph ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::TensorProto;

llvm::Error GraphImporter::importInitializers() {
  for (const TensorRecord &record : model_.initializers())
    if (read_.contains(record.proto.name()))
      if (llvm::Error error = storeTensor(record.proto.name(), record,
                                          values_[record.proto.name()]))
        return error;
  return llvm::Error::success();
}

llvm::Error GraphImporter::storeTensor(const std::string &name,
                                       const TensorRecord &record,
                                       ImportedValue &result) {
  result = ImportedValue();
  result.elementType = record.proto.data_type();
  result.shape = record.shape();
  int64_t count = countElements(result.shape).value_or(0);
  auto reference = model_.locate(record);
  if (!reference)
    return reference.takeError();
  bool isWeight = isKnownType(result.elementType) && !result.shape.empty() &&
                  (!isIntegral(result.elementType) || count > maxHostElements);
  if (result.elementType == TensorProto::FLOAT && isWeight && count != 0 &&
      !*reference)
    return makeError("expected the values of tensor " + quoted(name) +
                     " in the file, got: none; the file is corrupt");
  if (isWeight && count != 0 && *reference) {
    result.kind = ImportedValue::Kind::Stored;
    result.origin = name;
    result.source =
        nn::FileAttr::get(builder_.getContext(), (*reference)->file,
                          static_cast<int64_t>((*reference)->offset),
                          static_cast<int64_t>((*reference)->length));
    return llvm::Error::success();
  }
  if (count > maxHostElements || !isKnownType(result.elementType)) {
    result.problem = "expected weights of numbers as raw data, or small "
                     "constants, got: tensor " +
                     quoted(name) + " of type " + typeName(result.elementType) +
                     " and shape " + toString(result.shape);
    if (isKnownType(result.elementType))
      result.problem += " as a list of numbers; save the model again with "
                        "raw_data";
    return llvm::Error::success();
  }
  llvm::Expected<HostTensor> host = model_.read(record);
  if (!host)
    return host.takeError();
  result.kind = ImportedValue::Kind::Host;
  result.host = std::move(*host);
  return llvm::Error::success();
}

std::string soap::onnx_import::keyOfDim(const onnx::ValueInfoProto &input,
                                        int k) {
  const std::string &symbol =
      input.type().tensor_type().shape().dim(k).dim_param();
  return symbol.empty() ? input.name() + ":" + std::to_string(k) : symbol;
}

llvm::Error GraphImporter::importInputs() {
  for (const onnx::ValueInfoProto &input : model_.graph().input()) {
    if (values_.contains(input.name()))
      continue;
    if (initializerNames_.contains(input.name()))
      continue; // Nobody reads it.
    auto binding = options_.bindings.find(input.name());
    if (llvm::Error error = binding != options_.bindings.end()
                                ? bindInput(input.name(), binding->second)
                                : importInput(input))
      return error;
  }
  if (missingDims_.empty())
    return llvm::Error::success();
  return listError("expected sizes of all symbolic dimensions, got: none for " +
                       llvm::Twine(missingDims_.size()) +
                       "; add --batch=N or --dim=NAME=N",
                   missingDims_);
}

bool GraphImporter::hasBatchSymbol() const {
  return llvm::any_of(
      model_.graph().input(), [&](const onnx::ValueInfoProto &input) {
        auto asked = options_.batchDims.find(input.name());
        int64_t at = asked == options_.batchDims.end() ? 0 : asked->second;
        const auto &shape = input.type().tensor_type().shape();
        auto dim = static_cast<int>(at);
        return at >= 0 && at < shape.dim_size() &&
               !shape.dim(dim).has_dim_value() &&
               !options_.dims.count(keyOfDim(input, dim)) &&
               !options_.bindings.count(input.name());
      });
}

llvm::Error GraphImporter::resolveShape(const onnx::ValueInfoProto &input,
                                        Shape &shape,
                                        SmallVectorImpl<int64_t> &sampleDims) {
  const std::string &name = input.name();
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  int64_t rank = type.shape().dim_size();
  auto batchDimOption = options_.batchDims.find(name);
  int64_t batchDim = 0;
  if (batchDimOption != options_.batchDims.end()) {
    batchDim = batchDimOption->second;
    if (batchDim < 0 || batchDim >= rank)
      return makeError("expected a dimension below " + llvm::Twine(rank) +
                       " in --batch-dim=" + name +
                       ", got: " + llvm::Twine(batchDim));
  }
  std::string batchSymbol;
  if (batchDim < rank)
    batchSymbol = type.shape().dim(static_cast<int>(batchDim)).dim_param();

  for (int64_t k = 0; k != rank; ++k) {
    const auto &dim = type.shape().dim(static_cast<int>(k));
    const std::string &symbol = dim.dim_param();
    bool isBatch =
        k == batchDim || (!batchSymbol.empty() && symbol == batchSymbol);
    std::string key = keyOfDim(input, static_cast<int>(k));
    auto bound = options_.dims.find(key);
    int64_t size = 0;
    if (dim.has_dim_value()) {
      size = dim.dim_value();
      bool isAsked = batchDimOption != options_.batchDims.end();
      if (isBatch && options_.batch && *options_.batch != size &&
          (isAsked || !hasBatchSymbol())) {
        if (oldBatch_ && *oldBatch_ != size)
          return makeError("expected one batch size to replace, got: " +
                           llvm::Twine(*oldBatch_) + " and " +
                           llvm::Twine(size) + " for " + quoted(name) +
                           "; say with --batch-dim which dimension it is");
        oldBatch_ = size;
        size = *options_.batch;
      }
    } else if (bound != options_.dims.end()) {
      size = bound->second;
    } else if (isBatch && options_.batch) {
      size = *options_.batch;
    } else {
      missingDims_.push_back(quoted(key) + ": dimension " + std::to_string(k) +
                             " of input " + quoted(name));
      size = 1;
    }
    if (isBatch)
      sampleDims.push_back(k);
    shape.push_back(size);
  }
  return llvm::Error::success();
}

llvm::Error GraphImporter::importInput(const onnx::ValueInfoProto &input) {
  const std::string &name = input.name();
  if (!input.type().has_tensor_type())
    return makeError("expected tensors as inputs, got: " + quoted(name) +
                     ", which is of another type");
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  if (!isKnownType(type.elem_type()))
    return makeError("expected inputs of numbers or booleans, got: " +
                     typeName(type.elem_type()) + " for " + quoted(name));
  if (!type.has_shape())
    return makeError("expected a rank for every input, got: none for " +
                     quoted(name) + "; add its shape to the model");
  int64_t rank = type.shape().dim_size();
  if (rank > static_cast<int64_t>(maxRank))
    return makeError("expected inputs of rank " + llvm::Twine(maxRank) +
                     " or less, got: " + llvm::Twine(rank) + " for " +
                     quoted(name));
  Shape shape;
  SmallVector<int64_t> sampleDims;
  if (llvm::Error error = resolveShape(input, shape, sampleDims))
    return error;
  std::optional<int64_t> count = countElements(shape);
  if (!count)
    return makeError("expected inputs within bounds, got: " + toString(shape) +
                     " for " + quoted(name));
  if (*count == 0) { // It has no elements to feed.
    ImportedValue &value = values_[name];
    value.kind = ImportedValue::Kind::Host;
    value.elementType = type.elem_type();
    value.shape = shape;
    value.host = HostTensor::zeros(type.elem_type(), shape);
    return llvm::Error::success();
  }
  names_.insert(name);
  OperationState state(NameLoc::get(builder_.getStringAttr(name)),
                       nn::InputOp::getOperationName());
  state.addTypes(tensorType(shape, type.elem_type()));
  state.addAttribute("nn.name",
                     builder_.getStringAttr(llvm::json::fixUTF8(name)));
  state.addAttribute("sample_dims", builder_.getDenseI64ArrayAttr(sampleDims));
  ImportedValue &value = values_[name];
  value.kind = ImportedValue::Kind::Tensor;
  value.elementType = type.elem_type();
  value.shape = shape;
  value.value = builder_.create(state)->getResult(0);
  return llvm::Error::success();
}
