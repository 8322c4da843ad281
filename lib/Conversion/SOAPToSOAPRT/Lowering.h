//===- Lowering.h - State of convert-soap-to-soaprt -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_SOAPTOSOAPRT_LOWERING_H
#define SOAP_LIB_CONVERSION_SOAPTOSOAPRT_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/Target.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <tuple>

namespace soap {

/// What the pass counts.
struct LoweringCounts {
  int64_t kernels = 0, launches = 0, copies = 0, views = 0;
  int64_t writes = 0, writesInPlace = 0;
};

/// One run of convert-soap-to-soaprt over a module.
class Lowering {
public:
  Lowering(mlir::ModuleOp module, const Target &target);

  /// A program to make: its name, and its operations.
  struct Program {
    llvm::StringRef name;
    mlir::func::FuncOp main;
  };
  /// Makes all programs; their functions stay. The first one may write
  /// parameters; others read what it leaves.
  mlir::LogicalResult run(llvm::ArrayRef<Program> programs);

  const LoweringCounts &getCounts() const { return counts_; }

private:
  /// The device op of a device, and where its parts are inserted.
  struct Device {
    soaprt::DeviceOp op;
    mlir::Block *init = nullptr;
    mlir::Block *main = nullptr; ///< Of the program at hand.
  };

  /// Where the rows of a task go.
  struct Place {
    int32_t device;
    bool init;
    llvm::StringRef node;
    int64_t task = -1;
  };

  // Programs, buffers, ports.
  void createDevices(llvm::ArrayRef<Program> programs);
  mlir::LogicalResult lower(const Program &program);
  mlir::LogicalResult lowerOps(mlir::func::FuncOp main);
  mlir::LogicalResult createPorts(mlir::func::FuncOp main);
  mlir::OpBuilder bufferBuilder(int32_t device);
  mlir::OpBuilder rowBuilder(const Place &place);
  mlir::Value createBuffer(int32_t device, llvm::ArrayRef<int64_t> shape,
                           mlir::Type element, Space space, mlir::Location loc);
  mlir::Value createBuffer(soapir::ShardType type, mlir::Location loc);
  mlir::Value createView(int32_t device, mlir::Value source, int64_t first,
                         llvm::ArrayRef<int64_t> shape, mlir::Location loc);
  /// A view of elements `[lo, lo + sizes)`, or null if they are not contiguous
  /// or (with `aligned`) do not start where a kernel can read them.
  mlir::Value tryView(int32_t device, mlir::Value source,
                      llvm::ArrayRef<int64_t> lo, llvm::ArrayRef<int64_t> sizes,
                      bool aligned, mlir::Location loc);
  void createCopy(const Place &place, mlir::ValueRange sources,
                  mlir::ValueRange targets,
                  llvm::ArrayRef<soaprt::BoxCopyAttr> boxes,
                  mlir::TypedAttr fill, mlir::Location loc);
  /// Copies a buffer to one of its shape.
  void createWholeCopy(const Place &place, mlir::Value source,
                       mlir::Value target, mlir::Location loc);

  /// Writes which parts of which values the buffers hold.
  void createTiles(mlir::func::FuncOp main);

  // Tasks (LowerTasks.cpp).
  mlir::LogicalResult lower(soapir::TaskOp task);
  mlir::LogicalResult lowerOp(mlir::Operation *op, const Place &place,
                              mlir::IRMapping &buffers);
  mlir::LogicalResult lowerParameter(nn::ParameterOp op, const Place &place,
                                     mlir::IRMapping &buffers);
  void lowerConstant(nn::ConstantOp op, const Place &place,
                     mlir::IRMapping &buffers);
  void lowerSlice(nn::SliceOp op, const Place &place, mlir::IRMapping &buffers);
  void lowerConcat(nn::ConcatOp op, const Place &place,
                   mlir::IRMapping &buffers);
  void lowerPad(nn::PadOp op, const Place &place, mlir::IRMapping &buffers);
  mlir::LogicalResult lowerKernel(mlir::Operation *op, const Place &place,
                                  mlir::IRMapping &buffers);
  // What lasts from step to step (LowerState.cpp).
  /// Finds what writes parameters, and which new values are made in place.
  mlir::LogicalResult findWrites(mlir::func::FuncOp main);
  llvm::SmallVector<mlir::Value> findValuesInPlace(mlir::Value value,
                                                   mlir::Value parameter) const;
  /// Whether a shard holds a parameter's value before the step, or a view of
  /// it, where the step leaves the next one.
  bool isOverwritten(mlir::Value shard) const;
  void lowerWrite(nn::WriteOp op, const Place &place, mlir::IRMapping &buffers);
  mlir::LogicalResult lowerSchedule(nn::ScheduleOp op, Place place,
                                    mlir::IRMapping &buffers);
  mlir::FailureOr<soaprt::KernelOp> getKernel(mlir::Operation *op);
  mlir::LogicalResult lower(soapir::SliceOp op);
  mlir::LogicalResult lower(soapir::AssembleOp op);
  /// Where a copy goes that is made before the first step, or in every step.
  /// Fails if it is made once and a program writes what it is of.
  mlir::FailureOr<Place> placeOfCopy(mlir::Operation *op, bool isInit,
                                     llvm::StringRef node);

  // Communication (LowerCommunication.cpp).
  mlir::LogicalResult lower(soapir::TransferOp op);
  /// A transfer or broadcast from the host: one transfer per result.
  mlir::LogicalResult lowerFeed(mlir::Operation *op);
  mlir::LogicalResult lowerDrain(soapir::TransferOp op);
  struct CollectiveMember;
  void lowerCollective(soapir::CommunicationOpInterface op,
                       CollectiveAlgorithm algorithm);
  // Buckets (LowerBuckets.cpp).
  /// A view of the buffer of a bucket, on one device.
  struct BucketPlace {
    mlir::Value buffer;
    int64_t first = 0; ///< Element.
  };
  /// Reductions that are one collective, and its number.
  struct Bucket {
    llvm::ArrayRef<soapir::ReductionOpInterface> ops;
    int32_t tag;
  };
  struct BucketCopies;
  /// Finds all-reduces that are one collective, makes the buffers that they
  /// reduce, and sees to it that tasks write to their places there.
  void findBuckets(mlir::func::FuncOp main);
  void placeInBucket(mlir::Value shard, const BucketPlace &place);
  mlir::Value tryBucketView(int32_t device, const BucketPlace &place,
                            mlir::Type type, mlir::Location loc);
  void lowerBucket(soapir::ReductionOpInterface first);
  void lowerBucketMember(const Bucket &bucket, int32_t member);
  /// @{ What a member of a bucket puts in: of all-reduces, all of it has its
  /// place in a buffer; of reduce-scatters, shares are copied to a buffer
  /// [device that gets them, elements of all shares].
  mlir::Value gatherBucket(const Place &place, const Bucket &bucket,
                           int32_t member);
  mlir::Value packBucket(const Place &place, const Bucket &bucket,
                         int32_t member);
  /// @}
  /// The copies of the shares of one reduction, which lie in each chunk of
  /// `send` from element `begin` on.
  void addShares(BucketCopies &copies, soapir::ReductionOpInterface op,
                 int32_t member, mlir::Value send, int64_t begin);
  /// A constant on a device.
  mlir::Value zeroBuffer(int32_t device, llvm::ArrayRef<int64_t> shape,
                         mlir::Type element, mlir::Location loc);
  void createCopies(const Place &place, const BucketCopies &copies,
                    mlir::Location loc);
  /// One member's part of the collective that a bucket is.
  void reduceBucket(mlir::OpBuilder &builder, const Bucket &bucket,
                    int32_t member, mlir::ValueRange sends,
                    mlir::Value receive);
  /// Where an operation of a task puts its result.
  mlir::Value createResult(mlir::Value result, const Place &place);
  /// The output ports into which a shard on the host goes.
  void findOutputs(mlir::Value hostShard,
                   llvm::SmallVectorImpl<soaprt::OutputOp> &outputs);

  mlir::ModuleOp module_;
  const Target &target_;
  mlir::MLIRContext *context_;
  NativeKernels natives_;
  llvm::SmallVector<Device> devices_;
  /// The buffer of every shard that is not on the host.
  mlir::IRMapping shards_;
  /// @{ Of the program at hand.
  llvm::StringRef program_;
  llvm::StringMap<soaprt::InputOp> inputs_;
  llvm::StringMap<soaprt::OutputOp> outputs_;
  /// @}
  int32_t numInputs_ = 0, numOutputs_ = 0; ///< Of all programs.
  /// By operation name, attributes without the name, and types.
  std::map<std::tuple<const void *, const void *, const void *>,
           soaprt::KernelOp>
      kernels_;
  /// The buffers of parameters that earlier programs load: a program takes
  /// those of its own that hold the same.
  struct LoadedParameter {
    llvm::StringRef program;
    int32_t device;
    nn::ParameterOp op;
    mlir::Value buffer;
  };
  llvm::StringMap<llvm::SmallVector<LoadedParameter, 2>> parameters_;
  mlir::Value findParameter(nn::ParameterOp op, int32_t device) const;
  /// Names of parameters that a step writes, their buffers, and the step.
  llvm::StringSet<> written_;
  llvm::StringRef writer_;
  llvm::DenseSet<mlir::Value> writtenBuffers_;
  /// New values of parameters, shards, that are made where the old ones are.
  llvm::DenseMap<mlir::Value, mlir::Value> madeInPlace_;
  /// Where results of the task at hand go that have a buffer.
  llvm::DenseMap<mlir::Value, mlir::Value> placed_;
  /// @{ What buckets of all-reduces reduce, by the first one: a buffer per
  /// device. And
  /// where values of tasks have their places in these.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
      bucketBuffers_;
  llvm::DenseMap<mlir::Value, BucketPlace> bucketPlaces_;
  /// @}
  /// Buffers of constants of equal elements, by device and value: nothing
  /// writes them.
  llvm::DenseMap<std::pair<int32_t, mlir::Attribute>, mlir::Value> splats_;
  /// What is cut out of a buffer before the first step, by that and the box:
  /// programs share it.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> cutOnce_;
  /// Number of communication operations so far.
  int32_t tags_ = 0;
  LoweringCounts counts_;
};

/// Box arithmetic that both halves share.
llvm::SmallVector<int64_t> lowerBounds(const Box &box);
llvm::SmallVector<int64_t> difference(const Box &box, const Box &origin);
/// The place among the row-major elements of `shape` of the first element of
/// `[lo, lo + sizes)`; none if these are not contiguous.
std::optional<int64_t> firstOfRun(llvm::ArrayRef<int64_t> lo,
                                  llvm::ArrayRef<int64_t> sizes,
                                  llvm::ArrayRef<int64_t> shape);

} // namespace soap

#endif // SOAP_LIB_CONVERSION_SOAPTOSOAPRT_LOWERING_H
