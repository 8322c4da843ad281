//===- BoxViews.h - Views that may become copies ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_SOAPTOSOAPRT_BOXVIEWS_H
#define SOAP_LIB_CONVERSION_SOAPTOSOAPRT_BOXVIEWS_H

#include "ProgramUses.h"
#include <optional>

namespace soap {

/// A view of a box of a buffer of activations, which is contiguous where
/// elements are row-major. In another order it may have to be a buffer of its
/// own, with a copy between the two.
struct BoxView {
  soaprt::ViewOp view;
  llvm::SmallVector<int64_t> lo; ///< Of its first element in the source.
  /// Where a copy between the two may stand.
  struct Place {
    /// The first row that reads the view, or the only one that writes it. Null:
    /// it has to stay a view.
    soaprt::RowOpInterface row = nullptr;
    bool isRead = false;
    /// The row that the copy stands right before. Null: behind all.
    mlir::Operation *before = nullptr;
  } place;

  /// What it costs, in bytes, if the elements of source and view have the same
  /// order, channels last.
  int64_t costChannelsLast();
};

/// What a view is, if it is one of a box; `uses` are those of its device.
std::optional<BoxView> findBoxView(soaprt::ViewOp view, ProgramUses &uses);

/// Makes buffers of views, with copies from their sources or to them. Each has
/// a place.
void copyBoxes(llvm::ArrayRef<BoxView> views);

} // namespace soap

#endif // SOAP_LIB_CONVERSION_SOAPTOSOAPRT_BOXVIEWS_H
