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
// many as there are rows; the maximum and the sum share the scratch memory.
// GPU: module @kernels attributes {cuda.kernels = [
// GPU-SAME: {launches = [{constants = array<i64>, entry = "soap_native_0_relu_0", items = 1024 : i64}], name = "soap_native_0_relu", scratch = 0 : i64}
// GPU-SAME: {blocks = 8 : i64, constants = array<i64>, entry = "soap_native_1_softmax_0"}
// GPU-SAME: scratch = 512 : i64

// A buffer in shared memory per block reduction.
// GPU: memref.global "private" @{{.*}}_shared_0 : memref<256xf32, 3>

// Element-wise: groups of four elements, then what is left.
// GPU: func.func @soap_native_0_relu_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64) attributes {cuda.threads = 256 : i64}
// GPU: gpu.thread_id
// GPU: scf.for
// GPU: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// GPU: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// GPU: scf.for
// GPU: memref.store

// A reduction: a loop of each thread, then halves of the block, with barriers.
// The fill of the maximum is its first value, and no launch.
// GPU: func.func @soap_native_1_softmax_0(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias})
// GPU: scf.for
// GPU: scf.for
// GPU: arith.maximumf
// GPU: gpu.barrier
// GPU-NOT: linalg

// NVVM: llvm.mlir.global private @{{.*}}_shared_0() {addr_space = 3 : i32
// NVVM: llvm.func @soap_native_0_relu_0({{.*}}nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>
// NVVM: nvvm.read.ptx.sreg.tid.x
// NVVM: llvm.func @soap_native_1_softmax_0
// NVVM: nvvm.barrier0
// NVVM-NOT: math.exp
