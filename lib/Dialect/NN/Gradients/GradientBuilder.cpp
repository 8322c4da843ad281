//===- GradientBuilder.cpp - Operations of a gradient ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

#include "soap/Dialect/NN/Gradients/DifferentiableInterface.cpp.inc"

GradientBuilder::GradientBuilder(
    OpBuilder &builder, Operation *leader, StringRef name,
    llvm::function_ref<std::string(StringRef)> unique)
    : builder_(builder), leader_(leader),
      loc_(leader ? leader->getLoc() : builder.getUnknownLoc()),
      name_(name.str()), unique_(unique) {
  if (!leader)
    return;
  spec_ = cast<PartitionOpInterface>(leader).getPartitionSpec();
  if (!spec_.results.empty())
    frame_ = spec_.results.front();
  // A member of a group leads none: what it is made of joins that group.
  auto group = leader->getAttrOfType<GroupAttr>(groupAttrName);
  for (const LoopSpec &loop : spec_.loops)
    leaderLoops_.push_back(group ? group.getLeaderLoop(loop.name) : loop.name);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void GradientBuilder::joinAlong(Operation *op, const LoopNames &loops) {
  setName(op, unique_(name_));
  if (!leader_)
    return;
  SmallVector<NamedAttribute> entries;
  PartitionSpec own = cast<PartitionOpInterface>(op).getPartitionSpec();
  llvm::SmallDenseSet<StringRef> taken;
  for (const auto &[loop, same] : loops) {
    int known = spec_.findLoop(same);
    if (own.findLoop(loop) < 0 || known < 0 || leaderLoops_[known].empty() ||
        !taken.insert(leaderLoops_[known]).second)
      continue;
    entries.push_back(builder_.getNamedAttr(
        loop, builder_.getStringAttr(leaderLoops_[known])));
  }
  StringRef name = getGroupLeader(leader_);
  op->setAttr(groupAttrName,
              GroupAttr::get(op->getContext(),
                             name.empty() ? getName(leader_) : name,
                             builder_.getDictionaryAttr(entries)));
  (void)takeParts(op);
}

LoopNames GradientBuilder::sameLoops() const {
  LoopNames names;
  for (const LoopSpec &loop : spec_.loops)
    names.push_back({loop.name.str(), loop.name.str()});
  return names;
}

LoopNames GradientBuilder::dimLoops(const ValueAccess &access,
                                    unsigned rank) const {
  // Aligned on the right, as operands broadcast.
  LoopNames names;
  size_t missing =
      access.dims.size() - std::min<size_t>(rank, access.dims.size());
  for (size_t dim = missing; dim < access.dims.size(); ++dim)
    if (int loop = access.dims[dim].loop; loop >= 0)
      names.push_back(
          {("d" + Twine(dim - missing)).str(), spec_.loops[loop].name.str()});
  return names;
}

Value GradientBuilder::inFrame(Operation *op) {
  // Loops of reductions are the dimensions of what is reduced.
  Value shaped = isa<ReduceOp>(op) ? op->getOperand(0) : op->getResult(0);
  joinAlong(op, dimLoops(frame_, shapeOf(shaped).size()));
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Operations per element
//===----------------------------------------------------------------------===//

/// The shape to which operands broadcast, aligned on the right.
static Shape broadcastShape(ArrayRef<Value> values) {
  Shape result;
  for (Value value : values) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t i = 1; i <= shape.size(); ++i) {
      int64_t &size = result[result.size() - i];
      size = std::max(size, shape[shape.size() - i]);
    }
  }
  return result;
}

template <typename Op>
Value GradientBuilder::binary(Value a, Value b) {
  auto type = RankedTensorType::get(broadcastShape({a, b}), elementType(a));
  OperationState state(loc_, Op::getOperationName(), {a, b}, type, {});
  return inFrame(builder_.create(state));
}

Value GradientBuilder::add(Value a, Value b) { return binary<AddOp>(a, b); }

Value GradientBuilder::addInPlace(Value sum, Value gradient) {
  auto op = create<AddOp>(sum.getType(), sum, gradient);
  if (!followMaker(op))
    return inFrame(op);
  setName(op, unique_(name_));
  return op.getResult();
}

namespace {
/// A value with zeros around it along one dimension.
struct Padded {
  PadOp op;
  int64_t axis = 0;

  static std::optional<Padded> of(Value value) {
    auto op = value.getDefiningOp<PadOp>();
    if (!op || !isAdditive(op) || !op->use_empty())
      return std::nullopt;
    std::optional<int64_t> axis;
    for (auto [dim, lo, hi] : llvm::enumerate(op.getPadsLo(), op.getPadsHi())) {
      if (lo < 0 || hi < 0 || ((lo != 0 || hi != 0) && axis))
        return std::nullopt;
      if (lo != 0 || hi != 0)
        axis = static_cast<int64_t>(dim);
    }
    return axis ? std::optional<Padded>({op, *axis}) : std::nullopt;
  }
  int64_t begin() { return op.getPadsLo()[axis]; }
  int64_t end() { return begin() + shapeOf(op.getX())[axis]; }
};
} // namespace

/// The operands of a concatenation that nobody else reads, or the value.
static void appendParts(SmallVectorImpl<Value> &parts, Value value,
                        int64_t axis) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (concat && concat->hasOneUse() &&
      static_cast<int64_t>(concat.getAxis()) == axis)
    llvm::append_range(parts, concat.getInputs());
  else
    parts.push_back(value);
}

Value GradientBuilder::addBeside(Value sum, Value gradient, bool followsMaker) {
  auto first = Padded::of(sum), second = Padded::of(gradient);
  if (!first || !second || first->axis != second->axis)
    return nullptr;
  // Parts of different sums do not lie on the same devices.
  Attribute inParts = first->op->getAttr(partsAttrName);
  if (inParts != second->op->getAttr(partsAttrName) ||
      (inParts && getGroupLeader(first->op) != getGroupLeader(second->op)))
    return nullptr;
  if (second->begin() < first->begin())
    std::swap(first, second);
  if (first->end() != second->begin())
    return nullptr;
  int64_t axis = first->axis, begin = first->begin(), end = second->end();
  SmallVector<Value> parts;
  appendParts(parts, first->op.getX(), axis);
  appendParts(parts, second->op.getX(), axis);
  Shape shape(shapeOf(sum));
  int64_t whole = std::exchange(shape[axis], end - begin);
  auto place = [&](Operation *op) {
    if (followsMaker && inParts && followMaker(op))
      setName(op, unique_(name_));
    else
      inFrame(op);
    return op->getResult(0);
  };
  Value both = place(create<ConcatOp>(
      RankedTensorType::get(shape, elementType(sum)), parts, axis));
  if (begin != 0 || end != whole) {
    SmallVector<int64_t> lo(shape.size(), 0), hi(shape.size(), 0);
    lo[axis] = begin;
    hi[axis] = whole - end;
    both = place(create<PadOp>(sum.getType(), both, lo, hi,
                               builder_.getFloatAttr(elementType(sum), 0)));
  }
  for (PadOp pad : {first->op, second->op}) {
    auto concat = pad.getX().getDefiningOp<ConcatOp>();
    pad.erase();
    if (concat && concat->use_empty())
      concat.erase();
  }
  return both;
}

Value GradientBuilder::sub(Value a, Value b) { return binary<SubOp>(a, b); }
Value GradientBuilder::mul(Value a, Value b) { return binary<MulOp>(a, b); }
Value GradientBuilder::div(Value a, Value b) { return binary<DivOp>(a, b); }
Value GradientBuilder::pow(Value a, Value b) { return binary<PowOp>(a, b); }
Value GradientBuilder::min(Value a, Value b) { return binary<MinOp>(a, b); }
Value GradientBuilder::max(Value a, Value b) { return binary<MaxOp>(a, b); }

Value GradientBuilder::where(Value condition, Value a, Value b) {
  auto type =
      RankedTensorType::get(broadcastShape({condition, a, b}), elementType(a));
  return inFrame(create<WhereOp>(type, condition, a, b));
}

Value GradientBuilder::compare(Predicate predicate, Value a, Value b) {
  auto type =
      RankedTensorType::get(broadcastShape({a, b}), builder_.getI1Type());
  return inFrame(create<CompareOp>(type, a, b, predicate));
}

Value GradientBuilder::mul(Value a, double factor) {
  return factor == 1 ? a : mul(a, scalar(elementType(a), factor));
}
Value GradientBuilder::add(Value a, double addend) {
  return addend == 0 ? a : add(a, scalar(elementType(a), addend));
}
Value GradientBuilder::pow(Value a, double exponent) {
  return exponent == 1 ? a : pow(a, scalar(elementType(a), exponent));
}

Value GradientBuilder::expand(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return inFrame(
      create<ExpandOp>(RankedTensorType::get(shape, elementType(x)), x));
}

Value GradientBuilder::sum(Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  Shape shape(shapeOf(x));
  for (int64_t axis : axes)
    shape[axis] = 1;
  return inFrame(create<ReduceOp>(RankedTensorType::get(shape, elementType(x)),
                                  x, ReduceKind::Sum, axes, /*keepdims=*/true,
                                  llvm::APFloat(1.0f)));
}

Value GradientBuilder::sumToShape(Value gradient, Type type) {
  ArrayRef<int64_t> from = shapeOf(gradient);
  ArrayRef<int64_t> to = cast<RankedTensorType>(type).getShape();
  size_t missing = from.size() - to.size();
  SmallVector<int64_t> axes;
  for (size_t dim = 0; dim < from.size(); ++dim)
    if (from[dim] != 1 && (dim < missing || to[dim - missing] == 1))
      axes.push_back(static_cast<int64_t>(dim));
  return reshape(sum(gradient, axes), to);
}

//===----------------------------------------------------------------------===//
// Shapes and constants
//===----------------------------------------------------------------------===//

Value GradientBuilder::reshape(Value x, ArrayRef<int64_t> shape,
                               const LoopNames &loops) {
  if (shapeOf(x) == shape)
    return x;
  return join(
      create<ReshapeOp>(RankedTensorType::get(shape, elementType(x)), x),
      loops);
}

Value GradientBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  // Dimensions of size 1 come and go; the others keep their loops.
  LoopNames loops;
  ArrayRef<int64_t> from = shapeOf(x);
  size_t missing = frame_.dims.size() - from.size(), dim = 0;
  for (auto [to, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    while (dim < from.size() && from[dim] == 1)
      ++dim;
    if (dim == from.size() || from[dim] != size ||
        from.size() > frame_.dims.size())
      break;
    if (int loop = frame_.dims[missing + dim++].loop; loop >= 0)
      loops.push_back({("d" + Twine(to)).str(), spec_.loops[loop].name.str()});
  }
  return reshape(x, shape, loops);
}

Value GradientBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  Shape shape;
  LoopNames loops;
  for (auto [dim, from] : llvm::enumerate(permutation)) {
    shape.push_back(shapeOf(x)[from]);
    if (int loop = frame_.dims[from].loop; loop >= 0)
      loops.push_back({("d" + Twine(dim)).str(), spec_.loops[loop].name.str()});
  }
  return join(create<TransposeOp>(RankedTensorType::get(shape, elementType(x)),
                                  x, permutation),
              loops);
}

Value GradientBuilder::convert(Value x, Type element) {
  if (elementType(x) == element)
    return x;
  return inFrame(create<CastOp>(RankedTensorType::get(shapeOf(x), element), x,
                                /*saturate=*/false));
}

Value GradientBuilder::scalar(Type element, double number) {
  return splat(RankedTensorType::get({}, element), number);
}

Value GradientBuilder::splat(Type type, double number) {
  auto tensor = cast<RankedTensorType>(type);
  return numbers(tensor.getShape(), tensor.getElementType(), number);
}

Value GradientBuilder::splatInteger(RankedTensorType type, int64_t number) {
  auto op = create<ConstantOp>(DenseElementsAttr::get(
      type, Attribute(builder_.getIntegerAttr(type.getElementType(), number))));
  setName(op, unique_(name_ + ".constant"));
  return op;
}

Value GradientBuilder::numbers(ArrayRef<int64_t> shape, Type element,
                               ArrayRef<double> list) {
  SmallVector<APFloat> values;
  for (double number : list)
    values.push_back(builder_.getFloatAttr(element, number).getValue());
  auto op = create<ConstantOp>(
      DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
  setName(op, unique_(name_ + ".constant"));
  return op;
}
