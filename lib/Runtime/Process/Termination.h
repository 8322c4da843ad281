//===- Termination.h - SIGTERM from the launcher ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launchers end the other processes when one has died: with SIGTERM, and a
// second later for good. A handler gives a process the time to say who is lost.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_TERMINATION_H
#define SOAP_LIB_RUNTIME_PROCESS_TERMINATION_H

namespace soap::runtime {

/// From now on SIGTERM writes a byte to `pipe` instead of ending the process.
/// Leaves a handler of the program alone.
void catchTermination(int pipe);

/// SIGTERM ends the process again, at once if it has come already.
void releaseTermination();
/// The same, if SIGTERM is caught for this `pipe`. Nothing is written to it any
/// more.
void releaseTermination(int pipe);

/// True from when a thread has taken SIGTERM.
bool tookTermination();
/// True from when the launcher has sent SIGTERM, even if no thread has taken
/// it.
bool isTerminated();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_TERMINATION_H
