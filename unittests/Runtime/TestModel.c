/*===- TestModel.c - The code of a hand-made model ----------------*- C -*-===*\
|*                                                                            *|
|* Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What soap-compile exports from a model: the table (TABLE, a file), that of *|
|* a build for one device (REFERENCE, if there is one) and the native         *|
|* kernels. The kernel adds sizes[1] to sizes[0] elements.                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <stdint.h>

#define DATA(NAME, FILE)                                                       \
  __asm__(".section .rodata\n"                                                 \
          ".globl " NAME "\n"                                                  \
          ".type " NAME ", @object\n"                                          \
          ".balign 64\n" NAME ":\n"                                            \
          ".incbin \"" FILE "\"\n"                                             \
          ".size " NAME ", . - " NAME "\n"                                     \
          ".text\n")

DATA("soap_model_data", TABLE);
#ifdef REFERENCE
DATA("soap_reference_data", REFERENCE);
#endif

static void add(void *const *buffers, const int64_t *sizes) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = 0; i != sizes[0]; ++i)
    y[i] = x[i] + (float)sizes[1];
}

void (*const soap_native_kernels[])(void *const *buffers,
                                    const int64_t *sizes) = {add};
