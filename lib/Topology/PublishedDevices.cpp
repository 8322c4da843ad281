//===- PublishedDevices.cpp - Accelerators by their data sheets -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/GeneratedTopologies.h"

using namespace soap;

// Per device: a K80 card has two, whose published rates are halved here. The
// data sheets of H100 and H200 give rates of tensor cores with sparsity, which
// are halved here.
// clang-format off
static constexpr PublishedDevice table[] = {
    //                  published             memory  simulated
    //                  flop/s     bytes/s    GiB     flop/s    bytes/s  half-efficiency  launch
    //                  tensor cores, published      simulated
    //                  tf32      bf16      f16      tf32     bf16     f16
    {"K80",             4.37e12,   240e9,     12,     3.0e12,   168e9,   128, 16, 24,     8000,
                        {0,       0,        0},      {0,      0,       0}},
    {"P100-SXM2",       10.6e12,   732e9,     16,     9.0e12,   585e9,   192, 16, 24,     6000,
                        {0,       0,        0},      {0,      0,       0}},
    {"V100-SXM2",       15.7e12,   900e9,     16,     13.3e12,  720e9,   256, 16, 24,     5000,
                        {0,       0,        125e12}, {0,      0,       106e12}},
    {"A100-SXM4-40GB",  19.5e12,   1555e9,    40,     16.6e12,  1244e9,  352, 16, 24,     4000,
                        {156e12,  312e12,   312e12}, {133e12, 265e12,  265e12}},
    {"A100-SXM4-80GB",  19.5e12,   2039e9,    80,     16.6e12,  1631e9,  352, 16, 24,     4000,
                        {156e12,  312e12,   312e12}, {133e12, 265e12,  265e12}},
    {"H100-SXM5-80GB",  67e12,     3350e9,    80,     57e12,    2680e9,  448, 16, 24,     4000,
                        {494.5e12, 989.5e12, 989.5e12}, {420e12, 841e12, 841e12}},
    {"H200-SXM5-141GB", 67e12,     4800e9,    141,    57e12,    3840e9,  448, 16, 24,     4000,
                        {494.5e12, 989.5e12, 989.5e12}, {420e12, 841e12, 841e12}},
};
// clang-format on

llvm::ArrayRef<PublishedDevice> soap::publishedDevices() { return table; }

DeviceKind PublishedDevice::kind() const {
  DeviceKind kind;
  kind.name = name.str();
  kind.peakFlops = peakFlops;
  kind.tf32Flops = tensorFlops.tf32;
  kind.bf16Flops = tensorFlops.bf16;
  kind.f16Flops = tensorFlops.f16;
  kind.memoryBandwidth = memoryBandwidth;
  kind.halfRows = halfRows;
  kind.halfColumns = halfColumns;
  kind.halfDepth = halfDepth;
  kind.launchNs = launchNs;
  return kind;
}
