/*===- run.c - Runs a compiled model from C -----------------------*- C -*-===*\
|*                                                                            *|
|* Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Loads a model, runs one step on zeros and prints the largest element of    *|
|* every output:                                                              *|
|*                                                                            *|
|*   cc run.c -lSOAPRuntime -o run && ./run model.so                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "soap/Runtime/Runtime.h"
#include <stdio.h>
#include <stdlib.h>

static int fail(soap_status status) {
  fprintf(stderr, "error: %s\n", soap_last_error());
  return status;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "error: expected the path of a model, got: %d arguments\n",
            argc - 1);
    return SOAP_INVALID;
  }
  soap_model *model;
  soap_status status = soap_model_load(argv[1], NULL, &model);
  if (status != SOAP_OK)
    return fail(status);

  size_t input_count = soap_model_input_count(model);
  size_t output_count = soap_model_output_count(model);
  void **inputs = calloc(input_count + 1, sizeof(void *));
  void **outputs = calloc(output_count + 1, sizeof(void *));
  soap_port port;
  for (size_t i = 0; i != input_count; ++i) {
    soap_model_input(model, i, &port);
    inputs[i] = calloc(1, port.bytes + 1);
    printf("input %s: %zu bytes of %s\n", port.name, port.bytes,
           soap_element_name(port.element));
  }
  for (size_t i = 0; i != output_count; ++i) {
    soap_model_output(model, i, &port);
    outputs[i] = calloc(1, port.bytes + 1);
  }

  /* The step runs while this thread could do something else. */
  status = soap_model_run_async(model, (const void *const *)inputs, outputs);
  if (status == SOAP_OK)
    status = soap_model_wait(model);
  if (status != SOAP_OK)
    return fail(status);

  for (size_t i = 0; i != output_count; ++i) {
    soap_model_output(model, i, &port);
    if (port.element == SOAP_F32 && port.bytes) {
      const float *values = outputs[i];
      size_t best = 0;
      for (size_t k = 1; k != port.bytes / sizeof(float); ++k)
        if (values[k] > values[best])
          best = k;
      printf("output %s: largest element %zu (%g)\n", port.name, best,
             values[best]);
    }
    free(outputs[i]);
  }
  printf("step: %.3f ms on %zu device(s)\n",
         (double)soap_model_step_ns(model) / 1e6,
         soap_model_device_count(model));
  for (size_t i = 0; i != input_count; ++i)
    free(inputs[i]);
  free(inputs);
  free(outputs);
  soap_model_release(model);
  return 0;
}
