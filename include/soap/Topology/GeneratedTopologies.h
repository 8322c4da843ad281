//===- GeneratedTopologies.h - Published machines by name -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters of published machines, of any size up to 1,024 devices: `p100`,
// `dgx-h100:nodes=16`. K80 and P100 are the clusters of Jia et al., "Beyond
// data and model parallelism", figure 6; V100 the servers of Yi et al., "Fast
// training of deep learning models over multiple GPUs"; the DGX systems follow
// NVIDIA's data sheets. What is assumed stands in Topology::comments.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOPOLOGY_GENERATEDTOPOLOGIES_H
#define SOAP_TOPOLOGY_GENERATEDTOPOLOGIES_H

#include "soap/Topology/Topology.h"

namespace soap {

/// A device by its data sheet, and how much of that is simulated.
struct PublishedDevice {
  llvm::StringLiteral name; ///< Of the DeviceKind.
  /// Published peak of 32-bit floats in flop/s, with boost clocks and without
  /// tensor cores, and memory bandwidth in bytes/s.
  double publishedFlops, publishedBandwidth;
  /// Size of the memory. The published number counts as GiB.
  int32_t memoryGiB;
  /// What is simulated. Assumed: about 85% of the published flop/s (K80:
  /// between what base and boost clock give) and 80% (K80: 70%) of the
  /// published bandwidth can be reached. Sizes of half efficiency grow with the
  /// number of units; they and the cost of a launch are assumptions, too.
  double peakFlops, memoryBandwidth;
  double halfRows, halfColumns, halfDepth;
  int64_t launchNs;
  /// Flop/s of tensor cores that multiply dense matrices and sum in f32; 0: the
  /// device has none for this type, which is multiplied as f32.
  struct TensorRates {
    double tf32, bf16, f16;
  };
  /// Published by NVIDIA's data sheets "V100 Tensor Core GPU", "A100 Tensor
  /// Core GPU", "H100 Tensor Core GPU" and "H200 Tensor Core GPU"; simulated
  /// are about 85% of that, as an assumption.
  TensorRates publishedTensorFlops, tensorFlops;

  DeviceKind kind() const;
};

/// K80, P100, V100, A100 with 40 and 80 GB, H100 and H200.
llvm::ArrayRef<PublishedDevice> publishedDevices();

/// A name that generateTopology() knows.
struct GeneratedTopology {
  llvm::StringLiteral name;
  llvm::StringLiteral description; ///< Of one node, for usage texts.
  int32_t devicesPerNode, defaultNodes;
};
llvm::ArrayRef<GeneratedTopology> generatedTopologies();

/// The most devices that a generated topology has.
constexpr int32_t maxGeneratedDevices = 1024;

/// Makes the topology NAME[:KEY=VALUE[,KEY=VALUE...]]. Keys: `nodes`, the
/// number of machines; `memory`, 40 or 80 (default), the GB of a device of
/// dgx-a100. Fails with the names or keys that there are if one is unknown or
/// has no such value. With 1,024 devices it takes about a tenth of a second and
/// 25 to 35 MB.
llvm::Expected<Topology> generateTopology(llvm::StringRef spec);

/// A file, if `fileOrName` ends in .json or is one that exists; else the
/// topology of that name. What --topology means in all tools.
llvm::Expected<Topology> loadTopology(llvm::StringRef fileOrName);

/// The names with their defaults and descriptions, one per line and
/// indented, for usage texts.
std::string describeGeneratedTopologies();

} // namespace soap

#endif // SOAP_TOPOLOGY_GENERATEDTOPOLOGIES_H
