// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(cuda-kernels-to-nvvm{level=buffers}))' -mlir-print-local-scope | FileCheck %s --check-prefix=BUFFERS
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(cuda-kernels-to-nvvm{level=gpu}))' -mlir-print-local-scope | FileCheck %s --check-prefix=GPU
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(cuda-kernels-to-nvvm))' -mlir-print-local-scope | FileCheck %s --check-prefix=NVVM

func.func @main(%x: tensor<4x100xf32>, %y: tensor<8x1000xf32>) {
  %0 = nn.relu %x {nn.name = "a"} : tensor<4x100xf32>
  %1 = nn.softmax %y {nn.name = "b", axis = 1 : i64} : tensor<8x1000xf32>
  return
}

// What a kernel makes for itself is allocated, however small: threads share it.
// BUFFERS: func.func @soap_native_1_softmax
// BUFFERS-NOT: memref.alloca
// BUFFERS: memref.alloc() {{.*}}: memref<8xf32>

// The module says what each kernel launches: blocks as the sizes ask for, or as
// many as there are rows. All parts of the softmax are one launch, and what they
// make for each other is in registers.
// GPU: module @kernels attributes {cuda.kernels = [
// GPU-SAME: {launches = [{constants = array<i64>, entry = "soap_native_0_relu_0", items = 1024 : i64}], name = "soap_native_0_relu", scratch = 0 : i64}
// GPU-SAME: {blocks = 8 : i64, constants = array<i64>, entry = "soap_native_1_softmax_0", held}], name = "soap_native_1_softmax", scratch = 0 : i64}

// The only buffer in shared memory: partial results of warps.
// GPU-COUNT-1: memref.global "private" @{{.*}} : memref<256xf32, 3>
// GPU-NOT: memref.global

// Element-wise: groups of four elements, then what is left.
// GPU: func.func @soap_native_0_relu_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64) attributes {cuda.threads = 256 : i64}
// GPU: gpu.thread_id
// GPU: scf.for
// GPU: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// GPU: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// GPU: scf.for
// GPU: memref.store

// The softmax, a loop over rows: what each thread has of the maximum, then halves
// of each warp, then all warps, with barriers; the exponentials, their sum, the
// quotients. A thread reads four elements from memory once, and writes them once.
// The fill of the maximum is its first value.
// GPU: func.func @soap_native_1_softmax_0(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}) attributes
// GPU: scf.for
// GPU: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// GPU-NOT: llvm.load
// GPU: arith.maximumf
// GPU-COUNT-5: gpu.shuffle
// GPU: gpu.barrier
// GPU: math.exp
// GPU: arith.addf {{.*}} fastmath
// GPU: arith.divf
// GPU: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// GPU-NOT: llvm.store
// GPU-NOT: linalg

// NVVM: llvm.mlir.global private @{{.*}}_shared_0() {addr_space = 3 : i32
// NVVM: llvm.func @soap_native_0_relu_0({{.*}}nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>
// NVVM: nvvm.read.ptx.sreg.tid.x
// NVVM: llvm.func @soap_native_1_softmax_0
// NVVM: nvvm.shfl.sync bfly
// NVVM: nvvm.barrier0
// NVVM-NOT: math.exp
