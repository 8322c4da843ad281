/*===- NativeKernel.h - Functions of a model's own code ----------*- C -*-===*\
|*                                                                            *|
|* Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* How the runtime calls native kernels, and what they may call.              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SOAP_RUNTIME_NATIVEKERNEL_H
#define SOAP_RUNTIME_NATIVEKERNEL_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as in C. */

/** A part of a kernel: what has the numbers from `begin` on, below `end`. */
typedef void (*soap_native_body)(void *data, int64_t begin, int64_t end);

/** What a backend does for native kernels. */
typedef struct soap_native_services {
  /** c += a * b, for a of rows x sum elements, b of sum x columns, c of
   * rows x columns. Element (i, j) of a lies at a[i * a_row + j * a_column], of
   * b likewise; one stride of each is 1, the other at least the number of
   * elements along it. The columns of c lie side by side. c overlaps neither a
   * nor b. Runs on the threads of the calling device. */
  void (*product)(int64_t rows, int64_t columns, int64_t sum, const float *a,
                  int64_t a_row, int64_t a_column, const float *b,
                  int64_t b_row, int64_t b_column, float *c, int64_t c_row);
  /** Memory for `bytes`, at a multiple of 64, with any contents, until it is
   * released by the same thread. A kernel that finds none ends the process. */
  void *(*allocate)(uint64_t bytes);
  void (*release)(void *block);
  /** Calls body(data, begin, end) for ranges that together have each number
   * below `count` once, at most `parts` of them, at the same time on the
   * threads of the calling device. Returns when all have returned. A body uses
   * none of these services. */
  void (*parallel)(int64_t count, int64_t parts, soap_native_body body,
                   void *data);
} soap_native_services;

/** soap_native_services.product without a library. */
static inline void
soap_plain_product(int64_t rows, int64_t columns, int64_t sum, const float *a,
                   int64_t a_row, int64_t a_column, const float *b,
                   int64_t b_row, int64_t b_column, float *c, int64_t c_row) {
  for (int64_t i = 0; i != rows; ++i)
    for (int64_t k = 0; k != sum; ++k)
      for (int64_t j = 0; j != columns; ++j)
        c[i * c_row + j] +=
            a[i * a_row + k * a_column] * b[k * b_row + j * b_column];
}

/** soap_native_services.allocate by the C library. */
static inline void *soap_plain_allocate(uint64_t bytes) {
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!block && bytes)
    abort();
  return block;
}

/** soap_native_services.parallel on one thread: in up to three parts, the last
 * one first, so that a kernel whose parts depend on each other is found out. */
static inline void soap_plain_parallel(int64_t count, int64_t parts,
                                       soap_native_body body, void *data) {
  if (parts > 3)
    parts = 3;
  for (int64_t part = parts; part-- != 0;)
    body(data, count * part / parts, count * (part + 1) / parts);
}

/** All services without a library. */
static inline soap_native_services soap_plain_services(void) {
  soap_native_services services = {soap_plain_product, soap_plain_allocate,
                                   free, soap_plain_parallel};
  return services;
}

/** A native kernel. `buffers` are operands, then results, in the order of the
 * operation, and last a `const soap_native_services *`; `sizes` are those that
 * the kernel was made for without knowing them. */
typedef void (*soap_native_kernel)(void *const *buffers, const int64_t *sizes);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif /* SOAP_RUNTIME_NATIVEKERNEL_H */
