//===- NativeKernels.cpp - Kernels without a library ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace soap;

namespace {
/// The shape of an element-wise operation with neighbouring dims merged that
/// every operand treats alike.
struct CollapsedShape {
  SmallVector<int64_t, 4> sizes;
  /// Per operand, which of `sizes` it varies along.
  SmallVector<llvm::SmallBitVector> varies;
  /// Batch norms of a fused operation whose factors are made before the loops.
  SmallVector<nn::BatchNormOp> norms;
};
} // namespace

/// The batch norms of a fused operation whose scale and variance vary along the
/// innermost loop alone, and not along the only one.
static SmallVector<nn::BatchNormOp>
normsOfChannels(nn::FusedOp fused, const CollapsedShape &collapsed) {
  auto variesAlongLast = [&](Value argument) {
    const llvm::SmallBitVector &varies =
        collapsed.varies[cast<BlockArgument>(argument).getArgNumber()];
    return varies.size() > 1 && varies.count() == 1 &&
           varies.test(varies.size() - 1);
  };
  SmallVector<nn::BatchNormOp> norms = normsOfArguments(fused.getParts());
  llvm::erase_if(norms, [&](nn::BatchNormOp norm) {
    return !variesAlongLast(norm.getScale()) ||
           !variesAlongLast(norm.getVariance());
  });
  return norms;
}

static CollapsedShape collapse(Operation *op, bool channelsLast) {
  SmallVector<llvm::SmallBitVector> access;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    access.push_back(elementwiseAccess(op, i));

  CollapsedShape collapsed;
  collapsed.varies.resize(op->getNumOperands());
  int64_t last = -1;
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  auto rank = static_cast<int64_t>(shape.size());
  for (int64_t dim : channelsLast
                         ? channelsLastOrder(rank)
                         : llvm::to_vector(llvm::seq<int64_t>(0, rank))) {
    int64_t size = shape[dim];
    if (size == 1)
      continue;
    bool merges = last >= 0 && llvm::all_of(access, [&](const auto &bits) {
                    return bits[dim] == bits[last];
                  });
    last = dim;
    if (merges) {
      collapsed.sizes.back() *= size;
      continue;
    }
    collapsed.sizes.push_back(size);
    for (auto [varies, bits] : llvm::zip_equal(collapsed.varies, access))
      varies.push_back(bits[dim]);
  }
  if (collapsed.sizes.empty()) { // A single element.
    collapsed.sizes.push_back(1);
    for (llvm::SmallBitVector &varies : collapsed.varies)
      varies.push_back(true);
  }
  if (auto fused = dyn_cast<nn::FusedOp>(op); fused && channelsLast)
    collapsed.norms = normsOfChannels(fused, collapsed);
  return collapsed;
}

/// An operation with its own attributes, without names and types.
static void printOperation(llvm::raw_ostream &os, Operation *op) {
  os << op->getName();
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().getValue().contains('.')) // Not a discardable one.
      os << ' ' << attribute.getName().getValue() << '='
         << attribute.getValue();
  if (Block *body = nn::getFusedBody(op)) {
    os << ' ';
    nn::printParts(os, *body);
  }
}

/// What tells kernels apart: the operation, its own attributes, and either the
/// element types and accesses (sizes are arguments) or the types.
static std::string kernelKey(Operation *op, const CollapsedShape *collapsed,
                             bool channelsLast) {
  std::string key;
  llvm::raw_string_ostream os(key);
  printOperation(os, op);
  if (!collapsed) {
    os << ' ' << op->getOperandTypes() << " -> " << op->getResultTypes();
    if (channelsLast)
      os << ' ' << channelsLastAttr;
    return key;
  }
  for (auto [operand, varies] :
       llvm::zip_equal(op->getOperands(), collapsed->varies)) {
    os << ' ' << getElementTypeOrSelf(operand) << '[';
    for (unsigned dim = 0; dim < varies.size(); ++dim)
      os << (varies[dim] ? 'x' : '-');
    os << ']';
  }
  os << " ->";
  for (Value result : op->getResults())
    os << ' ' << getElementTypeOrSelf(result);
  return key;
}

/// The factors of a batch norm of a fused operation, in memory of their own.
static Value buildFactors(OpBuilder &builder, nn::BatchNormOp norm, Value scale,
                          Value variance) {
  Location loc = norm.getLoc();
  Value size = builder.create<memref::DimOp>(loc, scale, 0);
  Value factors = builder.create<memref::AllocOp>(
      loc, cast<MemRefType>(scale.getType()), ValueRange(size));
  AffineMap all = builder.getMultiDimIdentityMap(1);
  builder.create<linalg::GenericOp>(
      loc, ValueRange{scale, variance}, factors,
      ArrayRef<AffineMap>{all, all, all}, utils::IteratorType::parallel,
      [&](OpBuilder &nested, Location location, ValueRange elements) {
        nested.create<linalg::YieldOp>(
            location,
            batchNormFactor(nested, location, norm, elements[0], elements[1]));
      });
  return factors;
}

/// An element-wise kernel: one linalg.generic over collapsed buffers.
static func::FuncOp buildElementwiseKernel(OpBuilder &builder, Operation *op,
                                           const CollapsedShape &collapsed,
                                           StringRef symbol) {
  MLIRContext *context = builder.getContext();
  Location loc = op->getLoc();
  unsigned rank = collapsed.sizes.size();
  SmallVector<Type> types;
  SmallVector<AffineMap> maps;
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](Type element, const llvm::SmallBitVector &varies,
                         bool noalias) {
    SmallVector<AffineExpr> exprs;
    SmallVector<int64_t> dims;
    for (unsigned dim : varies.set_bits()) {
      exprs.push_back(builder.getAffineDimExpr(dim));
      dims.push_back(dim);
    }
    maps.push_back(AffineMap::get(rank, 0, exprs, context));
    types.push_back(
        MemRefType::get(SmallVector<int64_t>(dims.size(), ShapedType::kDynamic),
                        storageType(element)));
    NamedAttrList list;
    list.set(native::sizesAttr, builder.getDenseI64ArrayAttr(dims));
    if (noalias)
      list.set(native::noaliasAttr, builder.getUnitAttr());
    attributes.push_back(list.getDictionary(context));
  };
  for (auto [operand, varies] :
       llvm::zip_equal(op->getOperands(), collapsed.varies))
    addArgument(getElementTypeOrSelf(operand), varies, !varies.all());
  for (Value result : op->getResults())
    addArgument(getElementTypeOrSelf(result), llvm::SmallBitVector(rank, true),
                false);

  auto function = builder.create<func::FuncOp>(
      loc, symbol, builder.getFunctionType(types, {}),
      ArrayRef<NamedAttribute>(), attributes);
  function->setAttr(native::parallelAttr, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock());
  unsigned made = op->getNumResults();
  SmallVector<Value> inputs(function.getArguments().drop_back(made));
  for (nn::BatchNormOp norm : collapsed.norms) {
    unsigned scale = cast<BlockArgument>(norm.getScale()).getArgNumber(),
             variance = cast<BlockArgument>(norm.getVariance()).getArgNumber();
    maps.insert(maps.end() - made, maps[scale]);
    inputs.push_back(
        buildFactors(builder, norm, inputs[scale], inputs[variance]));
  }
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  builder.create<linalg::GenericOp>(
      loc, inputs, function.getArguments().take_back(made), maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange elements) {
        elements = elements.drop_back(made);
        SmallVector<Value> results;
        if (auto fused = dyn_cast<nn::FusedOp>(op))
          results = {
              buildPartScalars(nested, location, fused.getBody().getArguments(),
                               fused.getParts(), elements, collapsed.norms)};
        else
          results = buildElementwiseScalars(nested, location, op, elements);
        nested.create<linalg::YieldOp>(location, results);
      });
  builder.create<func::ReturnOp>(loc);
  return function;
}

/// What tells kernels of several operations apart: these, what each of them
/// reads, all types, and the results.
static std::string kernelKey(Block &body) {
  std::string key;
  llvm::raw_string_ostream os(key);
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    os << " : " << value.getType();
  };
  auto printRead = [&](Value value) { os << " %" << numbers.lookup(value); };
  os << '(';
  llvm::interleaveComma(body.getArguments(), os, number);
  os << ')';
  for (Operation &op : body.without_terminator()) {
    os << ' ';
    printOperation(os, &op);
    llvm::for_each(op.getOperands(), printRead);
    os << " ->";
    llvm::for_each(op.getResults(), number);
    os << ';';
  }
  llvm::for_each(body.getTerminator()->getOperands(), printRead);
  return key;
}

/// Any other kernel, on tensors that are the buffers. `compute` makes the
/// results of the operands; the first of them lies where the result does if
/// the kernel overwrites it.
static func::FuncOp buildStaticKernel(
    OpBuilder &builder, Location loc, TypeRange operands, TypeRange results,
    StringRef symbol, bool overwritesFirst,
    function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> compute) {
  SmallVector<Type> types;
  for (TypeRange range : {operands, results})
    for (Type type : range) {
      auto tensor = cast<RankedTensorType>(type);
      types.push_back(
          MemRefType::get(tensor.getShape(), tensor.getElementType()));
    }
  SmallVector<DictionaryAttr> attributes(
      types.size(), builder.getDictionaryAttr(builder.getNamedAttr(
                        native::noaliasAttr, builder.getUnitAttr())));
  auto function = builder.create<func::FuncOp>(
      loc, symbol, builder.getFunctionType(types, {}),
      ArrayRef<NamedAttribute>(), attributes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock());
  SmallVector<Value> tensors;
  for (unsigned i = 0; i != operands.size(); ++i) {
    bool isOverwritten = overwritesFirst && i == 0;
    tensors.push_back(builder.create<bufferization::ToTensorOp>(
        loc, function.getArgument(isOverwritten ? operands.size() : i),
        /*restrict=*/true, /*writable=*/isOverwritten));
  }
  for (auto [result, argument] :
       llvm::zip_equal(compute(builder, tensors),
                       function.getArguments().take_back(results.size())))
    builder.create<bufferization::MaterializeInDestinationOp>(
        loc, /*result=*/Type(), result, argument, /*restrict=*/true,
        /*writable=*/true);
  builder.create<func::ReturnOp>(loc);
  return function;
}

/// A copy of an operation in a kernel, with a name of the kernel's.
static Operation *cloneInto(OpBuilder &builder, Operation *op,
                            ValueRange operands, const Twine &name) {
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    clone->removeDiscardableAttr(attribute.getName());
  nn::setName(clone, name);
  return clone;
}

/// The results of a block's terminator, of which `operands` are the arguments.
static SmallVector<Value> cloneInto(OpBuilder &builder, Block &body,
                                    ValueRange operands, StringRef symbol) {
  IRMapping mapping;
  mapping.map(body.getArguments(), operands);
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return mapping.lookup(value); });
  };
  for (auto [number, op] : llvm::enumerate(body.without_terminator())) {
    Operation *clone = cloneInto(builder, &op, mapped(op.getOperands()),
                                 symbol + "." + Twine(number));
    mapping.map(op.getResults(), clone->getResults());
  }
  return mapped(body.getTerminator()->getOperands());
}

//===----------------------------------------------------------------------===//
// NativeKernels
//===----------------------------------------------------------------------===//

NativeKernels::NativeKernels(ModuleOp parent) : parent_(parent) {
  module_ = parent.lookupSymbol<ModuleOp>(native::moduleName);
  if (!module_)
    return;
  for (auto function : module_.getOps<func::FuncOp>())
    if (auto key = function->getAttrOfType<StringAttr>(native::keyAttr)) {
      indexOfKey_.try_emplace(key.getValue(), size_++);
      symbols_.push_back(function.getName().str());
    }
}

void soap::registerKernelDialects(DialectRegistry &registry) {
  registry
      .insert<bufferization::BufferizationDialect, func::FuncDialect,
              linalg::LinalgDialect, memref::MemRefDialect, nn::NNDialect>();
}

bool NativeKernels::supports(Operation *op) {
  return isa_and_nonnull<nn::NNDialect>(op->getDialect()) &&
         !isa<nn::InputOp, nn::ParameterOp, nn::OutputOp, nn::YieldOp>(op) &&
         !nn::getFusedBody(op->getParentOp());
}

FailureOr<NativeKernelCall> NativeKernels::getOrCreate(Operation *op,
                                                       bool channelsLast) {
  if (!supports(op))
    return op->emitOpError(
        "expected an operation of nn that computes; inputs, parameters and "
        "outputs have no kernel");
  NativeKernelCall call;
  call.overwritesFirst = op->hasTrait<nn::OverwritesFirst>();
  std::optional<CollapsedShape> collapsed;
  call.inPlace.resize(op->getNumOperands());
  if (isElementwise(op)) {
    collapsed = collapse(op, channelsLast);
    call.sizes = collapsed->sizes;
    Type result = getElementTypeOrSelf(op->getResult(0));
    for (auto [index, varies] : llvm::enumerate(collapsed->varies))
      call.inPlace[index] =
          varies.all() && getElementTypeOrSelf(op->getOperand(index)) == result;
  }
  findOrBuild(
      kernelKey(op, collapsed ? &*collapsed : nullptr, channelsLast),
      op->getName().stripDialect(), call,
      [&](OpBuilder &builder, StringRef symbol) {
        func::FuncOp function =
            collapsed ? buildElementwiseKernel(builder, op, *collapsed, symbol)
                      : buildStaticKernel(
                            builder, op->getLoc(), op->getOperandTypes(),
                            op->getResultTypes(), symbol,
                            op->hasTrait<nn::OverwritesFirst>(),
                            [&](OpBuilder &inside, ValueRange operands) {
                              Operation *clone =
                                  cloneInto(inside, op, operands, symbol);
                              if (channelsLast)
                                clone->setAttr(channelsLastAttr,
                                               inside.getUnitAttr());
                              return SmallVector<Value>(clone->getResults());
                            });
        if (nn::precisionOf(op) == Precision::TF32)
          function->setAttr(native::tf32Attr, builder.getUnitAttr());
        return function;
      });
  return call;
}

FailureOr<NativeKernelCall> NativeKernels::getOrCreate(Block &body) {
  std::string suffix;
  bool roundsToTF32 = false;
  for (Operation &op : body.without_terminator()) {
    if (!supports(&op))
      return op.emitOpError("expected operations of nn that compute; inputs, "
                            "parameters and outputs have no kernel");
    suffix += (suffix.empty() ? "" : "_") + op.getName().stripDialect().str();
    roundsToTF32 |= nn::precisionOf(&op) == Precision::TF32;
  }
  NativeKernelCall call;
  call.inPlace.resize(body.getNumArguments());
  findOrBuild(kernelKey(body), suffix, call,
              [&](OpBuilder &builder, StringRef symbol) {
                func::FuncOp function = buildStaticKernel(
                    builder, body.front().getLoc(), body.getArgumentTypes(),
                    body.getTerminator()->getOperandTypes(), symbol,
                    /*overwritesFirst=*/false,
                    [&](OpBuilder &inside, ValueRange operands) {
                      return cloneInto(inside, body, operands, symbol);
                    });
                if (roundsToTF32)
                  function->setAttr(native::tf32Attr, builder.getUnitAttr());
                return function;
              });
  return call;
}

void NativeKernels::findOrBuild(
    StringRef key, StringRef suffix, NativeKernelCall &call,
    function_ref<Operation *(OpBuilder &, StringRef)> build) {
  auto [entry, isNew] = indexOfKey_.try_emplace(key, size_);
  call.index = entry->second;
  if (!isNew) {
    call.symbol = symbols_[call.index];
    return;
  }
  OpBuilder builder(parent_.getContext());
  if (!module_) {
    builder.setInsertionPointToEnd(parent_.getBody());
    module_ = builder.create<ModuleOp>(parent_.getLoc(), native::moduleName);
  }
  call.symbol = ("soap_native_" + Twine(size_) + "_" + suffix).str();
  builder.setInsertionPointToEnd(module_.getBody());
  build(builder, call.symbol)
      ->setAttr(native::keyAttr, builder.getStringAttr(key));
  symbols_.push_back(call.symbol);
  ++size_;
}

//===----------------------------------------------------------------------===//
// What kernels touch
//===----------------------------------------------------------------------===//

LogicalResult soap::verifyNativeArguments(func::FuncOp kernel) {
  if (kernel.isExternal())
    return kernel.emitError("expected a native kernel with a body, got: none");
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (isa<LLVM::LLVMPointerType>(type))
      continue;
    auto memref = dyn_cast<MemRefType>(type);
    auto dims =
        kernel.getArgAttrOfType<DenseI64ArrayAttr>(index, native::sizesAttr);
    if (!memref || !memref.getElementType().isIntOrFloat() ||
        (!memref.hasStaticShape() &&
         (!dims || dims.size() != memref.getRank())))
      return kernel.emitError("expected dense buffers of known extents as "
                              "arguments of a native kernel, got: ")
             << type;
    for (int64_t dim : dims ? dims.asArrayRef() : ArrayRef<int64_t>())
      if (dim < 0 || dim >= 64)
        return kernel.emitError("expected at most 64 sizes, got: one at ")
               << dim;
  }
  return success();
}

FailureOr<SmallVector<NativeKernelExtents>>
soap::nativeKernelExtents(ModuleOp kernels) {
  SmallVector<NativeKernelExtents> result;
  for (auto function : kernels.getOps<func::FuncOp>()) {
    if (!function->hasAttr(native::keyAttr))
      continue;
    if (failed(verifyNativeArguments(function)))
      return failure();
    NativeKernelExtents &kernel = result.emplace_back();
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto memref = dyn_cast<MemRefType>(type);
      if (!memref)
        return function.emitError("expected dense buffers as arguments of a "
                                  "native kernel, got: ")
               << type;
      auto dims = function.getArgAttrOfType<DenseI64ArrayAttr>(
          index, native::sizesAttr);
      NativeKernelExtents::Buffer &buffer = kernel.buffers.emplace_back();
      buffer.bytes = nn::elementBytes(memref.getElementType());
      if (memref.hasStaticShape()) {
        buffer.bytes *= memref.getNumElements();
        continue;
      }
      for (int64_t dim : dims.asArrayRef()) {
        buffer.extents |= uint64_t{1} << dim;
        kernel.sizeCount = std::max<uint32_t>(kernel.sizeCount, dim + 1);
      }
    }
  }
  return result;
}
