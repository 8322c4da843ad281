/*===- run-version.c - Uses the installed runtime -----------------*- C -*-===*\
|*                                                                            *|
|* Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "soap/Runtime/Runtime.h"
#include <stdio.h>

int main(void) {
  soap_model *model;
  printf("runtime %s\n%s\n", soap_version(), soap_list_devices());
  if (soap_model_load("no-such-model.so", NULL, &model) == SOAP_OK)
    return 1;
  printf("refused: %s\n", soap_last_error());
  return 0;
}
