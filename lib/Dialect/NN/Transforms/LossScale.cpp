//===- LossScale.cpp - The factor of the loss, from step to step ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

LossScale::LossScale(OpBuilder &builder, Location loc, NodeNames &names,
                     Type element, const OptimizerOptions &options)
    : loc_(loc), names_(names), period_(options.lossScalePeriod) {
  auto make = [&](StringRef name, double first) {
    auto parameter = builder.create<ParameterOp>(
        loc, RankedTensorType::get({}, element),
        SplatAttr::get(builder.getContext(),
                       builder.getFloatAttr(element, first)));
    setName(parameter, names.unique(name));
    return parameter;
  };
  scale_ = make("loss.scale", options.lossScale);
  good_ = make("loss.good", 0);
  skipped_ = make("loss.skipped", 0);
}

std::pair<Value, Value> LossScale::update(OpBuilder &builder, Value areFinite,
                                          SmallVectorImpl<NewValue> &values) {
  auto unique = [&](StringRef base) { return names_.unique(base); };
  GradientBuilder b(builder, nullptr, "loss.scale.next", unique);
  Value scale = scale_.getResult(), good = good_.getResult(),
        skipped = skipped_.getResult();
  Type element = typeOf(scale).getElementType();
  Value zero = b.scalar(element, 0), one = b.scalar(element, 1);
  Value counted = b.where(areFinite, b.add(good, 1), zero);
  Value grows = b.compare(Predicate::Ge, counted,
                          b.scalar(element, static_cast<double>(period_)));
  Value halved = b.mul(scale, 0.5);
  halved = b.where(b.compare(Predicate::Lt, halved, one), one, halved);
  Value kept = b.where(grows, b.mul(scale, 2), scale);
  Value next = b.where(areFinite, kept, halved);
  Value left = b.where(grows, zero, counted);
  Value all = b.where(areFinite, skipped, b.add(skipped, 1));
  // Scalars without a leader: each write is a group of its own.
  values.push_back({scale_, next, nullptr, {}, nullptr});
  values.push_back({good_, left, nullptr, {}, nullptr});
  values.push_back({skipped_, all, nullptr, {}, nullptr});
  return {next, all};
}
