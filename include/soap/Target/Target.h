//===- Target.h - What the compiler asks of a target ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a kind of device that models are compiled for. It says which
// operations the vendor's library of that device computes and how the runtime
// is told to call it, and it turns all other operations into code. Conversions
// and pipelines know this interface alone; soap/Target/CPU and its like
// implement it, and the tools register them (TargetRegistry.h).
//
// The other half of a target is a backend of the runtime. The two meet in the
// tables of a compiled model (soap/Runtime/Model.fbs), whose `target` is the
// target's name.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_TARGET_H
#define SOAP_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "soap/Partition/Vocabulary.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Topology/Topology.h"
#include <optional>

namespace soap {

namespace fb {
struct KernelT;
struct ModelT;
} // namespace fb

/// Equal devices that share one machine: each pair of them is a link.
inline constexpr int32_t maxLocalDevices = 256;

/// Devices of this machine that a target is to describe.
struct MachineRequest {
  int32_t devices = 1;
  /// Cores of the host that a device has; 0: an even split of the allowed ones.
  int32_t coresPerDevice = 0;
  std::string calibrationFile; ///< Rates; empty: the target's round figures.
  /// What devices exchange passes links of this speed, as with soap-run --link.
  std::optional<LinkSpeed> link;
};

/// What one device needs beside its planned arenas, in bytes.
struct LibraryMemory {
  uint64_t scratchpad = 0;    ///< Shared by all launches.
  uint64_t reordered = 0;     ///< Copies of parameters in other layouts.
  uint64_t peak = 0;          ///< All memory, at most, while a model loads.
  uint64_t communication = 0; ///< Of rows that move data.
};

/// A matrix of a product, as the table of this name in Model.fbs.
struct ProductMatrix {
  uint32_t buffer = 0;
  int64_t apart = 0, row = 0, column = 0;
};

/// A product of matrices, as the table of this name in Model.fbs.
struct DeviceProduct {
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  ProductMatrix a, b, c;
  bool adds = false, tf32 = false;
};

/// One launch of device code, as the table of this name in Model.fbs.
struct DeviceLaunch {
  std::string entry;
  int32_t product = -1;
  uint32_t threads = 1;
  uint64_t blocks = 0;
  uint64_t itemsPerBlock = 0;
  std::vector<int64_t> constants;
};

/// What a native kernel launches on the device, in this order, with what these
/// launches share.
struct DeviceKernel {
  std::vector<DeviceLaunch> launches;
  std::vector<DeviceProduct> products;
  uint64_t scratchBytes = 0, workspaceBytes = 0;
};

/// The code of `module @kernels`: functions of the host, or device code.
struct KernelCode {
  std::string object; ///< Defines `soap_native_kernels`; empty: device code.
  std::string deviceText;            ///< As DeviceCode.text in Model.fbs.
  uint32_t architecture = 0;         ///< As DeviceCode.architecture.
  std::vector<DeviceKernel> kernels; ///< One per native kernel, in order.
};

/// What a library kernel makes of channels that lie last (NHWC).
enum class ChannelsLast : uint8_t {
  /// It takes and makes row-major tensors only.
  Never,
  /// It is as fast in either order, as long as its first operand and its result
  /// (of the gradient of weights: its two operands) have the same one; a tensor
  /// of the other order is reordered in every run.
  Either,
  /// The same, but in row-major order it takes longer than reordering both.
  Faster,
  /// Row-major tensors are reordered in every run.
  Always
};

/// What a library makes of products of floats of 16 bits besides f32.
enum class ProductRounding : uint8_t {
  /// Nothing that is faster.
  Never,
  /// It rounds the sum to the type of the factors, of which the bias is then,
  /// too. What follows has kernels of its own.
  SumAlone,
  /// It rounds what followers made of the sum. The bias is f32.
  BehindFollowers
};

/// How a library applies an operation per element to a kernel's result.
struct FollowerUse {
  /// An operand that has the shape of the result and is added to it: the result
  /// may overwrite it.
  std::optional<unsigned> added;
};

/// A target with its options. Its functions change nothing in it and may be
/// called by any thread.
class Target {
public:
  explicit Target(std::string name) : name_(std::move(name)) {}
  virtual ~Target();
  Target(const Target &) = delete;
  Target &operator=(const Target &) = delete;

  /// As in `--target`, in the `target` of compiled models, and as the kind of
  /// this machine's devices in topologies and in tables of measured costs.
  llvm::StringRef getName() const { return name_; }

  //===--------------------------------------------------------------------===//
  // The library
  //===--------------------------------------------------------------------===//

  /// True if the library computes `op`, an nn operation on local (static)
  /// tensors, with these attributes, shapes and element types. All others
  /// become native kernels.
  virtual bool isLibraryKernel(mlir::Operation *op) const = 0;

  /// Describes a call of the library: sets `kernel.op` for an operation of
  /// which isLibraryKernel() is true. Emits an error on `op` otherwise.
  virtual mlir::LogicalResult buildLibraryKernel(mlir::Operation *op,
                                                 fb::KernelT &kernel) const = 0;

  /// Fails with the reason if nothing on this target multiplies in this
  /// precision. The default: all targets multiply floats of 32 and 16 bits, and
  /// TF32 is an attribute that a target has to know.
  virtual llvm::Error checkPrecision(Precision precision) const;

  /// What products of this precision are on the processor that code is made
  /// for, where that is not what their name says: one line. Empty: nothing is
  /// to be said, as by default.
  virtual std::string describePrecision(Precision precision) const;

  /// Whether the library computes nn.attention of f32, so that it is worth
  /// folding. By default it does not.
  virtual bool hasAttention() const;

  /// Of a target that has: the bytes of scores from which on it is faster than
  /// products that multiply in `precision`, which is not f32. By default 0.
  virtual int64_t getAttentionScoreBytes(Precision precision) const;

  /// How 16-bit products are faster with results of 16 bits, where `precision`
  /// is what a model is compiled for: if it is one of 16 bits,
  /// nn-narrow-activations is worth while. By default they are not.
  virtual ProductRounding getProductRounding(Precision precision) const;

  /// Whether convolutions are faster without a bias that an operation per
  /// element behind them can add (nn-separate-bias). By default they are not.
  virtual bool separatesBias() const;

  /// Bytes that rows of a product's factors are best multiples of
  /// (nn-arrange-factors): 1 by default.
  virtual int64_t getRowAlignment() const;

  /// What the library makes of channels that lie last in the first operand and
  /// the result of `op`, or in both operands of an nn.conv_backward_filter, of
  /// which isLibraryKernel() is true. Asked of nn::readsImages() alone.
  virtual ChannelsLast getChannelsLast(mlir::Operation *op) const;

  /// Whether the library can apply `follower`, an operation per element of
  /// which operand `operand` is the result, to the result of `anchor`, of which
  /// isLibraryKernel() is true. `keepNaN`: only where NaN is handed on. By
  /// default it cannot.
  virtual std::optional<FollowerUse> getFollower(mlir::Operation *anchor,
                                                 mlir::Operation *follower,
                                                 unsigned operand,
                                                 bool keepNaN) const;

  /// Whether one native kernel of several operations may be faster than one for
  /// each (soaprt-join-kernels). By default it is not.
  virtual bool joinsKernels() const;

  /// Of a target that joins kernels: the passes that lower `module @kernels` as
  /// far as paysJoined() has to know. Their dialects are those of
  /// registerDialects(). By default there are none.
  virtual void buildJoinedPipeline(mlir::OpPassManager &passes) const;

  /// Whether every kernel of `kernels`, of several operations each and lowered
  /// by these passes, goes through memory once, so that what lies between its
  /// operations takes no time. By default none does.
  virtual bool paysJoined(mlir::ModuleOp kernels) const;

  /// What library kernels and communication of a finished model table
  /// (Model.fbs) need on this machine, per device. `coresPerDevice` as in
  /// MachineRequest. Fails with the reason if this machine cannot run the
  /// model: the library is missing, or code is made for another processor.
  virtual llvm::Expected<std::vector<LibraryMemory>>
  planLibraryMemory(llvm::StringRef table, uint32_t coresPerDevice) const = 0;

  //===--------------------------------------------------------------------===//
  // Buffers and native kernels
  //===--------------------------------------------------------------------===//

  /// Buffers that a kernel reads or writes start at multiples of this many
  /// bytes: a multiple of soaprt::minAlignment (64).
  virtual int64_t getAlignment() const;

  /// Registers what the passes of buildKernelPipeline() need.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;

  /// Lowers `module @kernels` (soap/Conversion/NNToKernels) as far as MLIR
  /// goes. Runs on that module.
  virtual void buildKernelPipeline(mlir::OpPassManager &passes) const = 0;

  /// Compiles `module @kernels` to an object file for the host that defines
  /// `soap_native_kernels` (Model.fbs), or to device code. `kernels` itself
  /// stays as it is. Emits errors. Not to be called from within a pass: it runs
  /// a pass manager of its own and loads dialects.
  virtual mlir::FailureOr<KernelCode>
  emitKernels(mlir::ModuleOp kernels) const = 0;

  /// As emitKernels(), but only for what tables of a model say about kernels
  /// while its memory is planned: KernelCode::kernels of a target with device
  /// code. The default is for targets without: nothing.
  virtual mlir::FailureOr<KernelCode> planKernels(mlir::ModuleOp kernels) const;

  /// Adds to a model with native kernels what it asks of the machine that it
  /// will run on.
  virtual llvm::Error addRequirements(fb::ModelT &model) const = 0;

  //===--------------------------------------------------------------------===//
  // This machine
  //===--------------------------------------------------------------------===//

  /// What calibrations of this machine are valid for: "Xeon, 2 cores".
  virtual std::string getMachineName() const = 0;

  /// A native kernel that writes max(x, 0) of `sizes[0]` floats of its first
  /// buffer to its second, as element-wise kernels of this target do: with it a
  /// calibration measures memory traffic.
  virtual soap_native_kernel getStreamKernel() const = 0;

  /// Equal devices of this machine, of a kind that is called like the target,
  /// with the target's rates and alignment. Errors: no device; a calibration
  /// that cannot be read or is of another target.
  virtual llvm::Expected<Topology>
  describeMachine(const MachineRequest &request) const = 0;

private:
  std::string name_;
};

} // namespace soap

#endif // SOAP_TARGET_TARGET_H
