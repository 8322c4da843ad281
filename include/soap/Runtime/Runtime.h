/*===- Runtime.h - Load and run compiled models -------------------*- C -*-===*\
|*                                                                            *|
|* Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The C interface of the runtime. A model is loaded, runs steps, and is      *|
|* released:                                                                  *|
|*                                                                            *|
|*   soap_model *model;                                                       *|
|*   if (soap_model_load("m.so", NULL, &model) != SOAP_OK)                    *|
|*     fprintf(stderr, "error: %s\n", soap_last_error());                     *|
|*   soap_model_run(model, inputs, outputs);                                  *|
|*   soap_model_release(model);                                               *|
|*                                                                            *|
|* Functions that can fail return a soap_status; soap_last_error() has the    *|
|* reason. A model may be used by one thread at a time, different models by   *|
|* different threads. Strings and arrays that a function hands out belong to  *|
|* the model and live as long as it does.                                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SOAP_RUNTIME_RUNTIME_H
#define SOAP_RUNTIME_RUNTIME_H

#include "soap/Runtime/NativeKernel.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the tables in a compiled model. A model loads only into a
 * runtime of its own version. */
#define SOAP_ABI_VERSION 13

typedef enum soap_status {
  SOAP_OK = 0,
  /** The run failed: a kernel, a transport. */
  SOAP_FAILED = 1,
  /** Bad input: a file that is no model or is damaged, another ABI, missing CPU
   * features, too little memory, a wrong name, type, shape or argument. */
  SOAP_INVALID = 2
} soap_status;

/** One line (details may follow in indented lines) about the last failure in
 * this thread: what was expected, what came, and the cure. Never NULL. */
const char *soap_last_error(void);

/** "0.1.0" */
const char *soap_version(void);

typedef enum soap_element {
  SOAP_F32,
  SOAP_F64,
  SOAP_F16,
  SOAP_BF16,
  SOAP_I8,
  SOAP_I16,
  SOAP_I32,
  SOAP_I64,
  SOAP_U8,
  SOAP_U16,
  SOAP_U32,
  SOAP_U64,
  SOAP_BOOL,
  SOAP_F8E4M3FN,
  SOAP_F8E5M2,
  SOAP_F8E4M3FNUZ,
  SOAP_F8E5M2FNUZ,
  SOAP_I4, /**< One byte per element, sign-extended. */
  SOAP_U4  /**< One byte per element. */
} soap_element;

/** Bytes of one element. */
size_t soap_element_size(soap_element element);
/** "f32", "i64", ... */
const char *soap_element_name(soap_element element);

/*===- Loading ------------------------------------------------------------===*/

typedef struct soap_model soap_model;

typedef enum soap_transport {
  /** Where a launcher started several processes MPI or TCP, else local. */
  SOAP_TRANSPORT_AUTO = 0,
  SOAP_TRANSPORT_LOCAL = 1, /**< Threads of this process. */
  /** The processes that a launcher started together. All ranks load the same
   * models in the same order and make the same calls for each; those marked
   * collective wait for each other and return the same status on all ranks.
   * Inputs, outputs and measurements are rank 0's. A model whose step failed
   * because messages did can only be released. MPI starts with the first such
   * model (unless the program has started it, with MPI_THREAD_MULTIPLE) and
   * ends when the program exits. */
  SOAP_TRANSPORT_MPI = 2,
  /** The same without MPI: processes with RANK, WORLD_SIZE, MASTER_ADDR and
   * MASTER_PORT in their environment, as torchrun sets them. */
  SOAP_TRANSPORT_TCP = 3
} soap_transport;

/** What a compiled model for several devices may hold twice. */
typedef enum soap_build {
  SOAP_BUILD_MODEL = 0,    /**< As its strategy says. */
  SOAP_BUILD_REFERENCE = 1 /**< The same model on one device. */
} soap_build;

/** How a tile came into its memory, in the order in which data flows. */
typedef enum soap_origin {
  SOAP_LOADED,   /**< Made once, when the model is loaded. */
  SOAP_COMPUTED, /**< By a task of its node. */
  SOAP_RECEIVED, /**< From another device or the host. */
  SOAP_ASSEMBLED /**< Copied from what the device had. */
} soap_origin;

/** "loaded", "computed", "received", "assembled" */
const char *soap_origin_name(soap_origin origin);

/** What memory of a device holds: elements `box` of result `result` of node
 * `value`, dense and row-major. `box` has two numbers per dimension, the first
 * index and the one behind the last. */
typedef struct soap_tile {
  const char *program;  /**< Whose value it is, */
  size_t program_index; /**< and its number. */
  const char *value;    /**< nn.name of the node. */
  uint32_t result;
  soap_element element;
  size_t rank;
  const int64_t *shape; /**< Of the whole value. */
  const int64_t *box;
  /** The memory holds parts[0] ... parts[parts_held - 1] of part_count partial
   * results; 0 and 0: the value itself. */
  size_t part_count, parts_held;
  const uint32_t *parts;
  uint32_t device;
  /** Row of the device's part of the program that completed it; -1: it is made
   * once, when the model is loaded. */
  int32_t row;
  const char *row_name; /**< Of that row. Never NULL. */
  int32_t task;         /**< Index of the node's task, or -1. */
  soap_origin origin;
  const void *data; /**< Valid during the call. */
  int summed;       /**< The value is the sum of its partial results. */
} soap_tile;

/** Shown a tile when it is complete, before anything else may use its memory.
 * Called from the threads of the devices, at the same time by several. */
typedef void (*soap_observer)(const soap_tile *tile, void *user);

/** Zero-initialise, then set size, then what differs from the default. */
/** What moves data between devices of a model for GPUs. */
typedef enum soap_gpu_transport {
  /** NCCL, where each device has a GPU of its own (in one process: and NCCL is
   * installed). Else SOAP_GPU_TRANSPORT_PEER in one process, and
   * SOAP_GPU_TRANSPORT_HOST in several. */
  SOAP_GPU_TRANSPORT_AUTO = 0,
  SOAP_GPU_TRANSPORT_HOST = 1, /**< Through memory of the host. */
  SOAP_GPU_TRANSPORT_PEER = 2, /**< Copies, in one process. */
  SOAP_GPU_TRANSPORT_NCCL = 3
} soap_gpu_transport;

typedef struct soap_load_options {
  size_t size; /**< sizeof(soap_load_options) */
  soap_transport transport;
  /** Cores of each device; 0: as the model says, else an even split. */
  uint32_t cores_per_device;
  /** Called with one line per warning; NULL: stderr. */
  void (*warning)(const char *line, void *user);
  void *user;
  /** Which build of the model; SOAP_INVALID if the file lacks it. */
  soap_build build;
  /** Called with `user` for every tile; NULL (the default) costs nothing. */
  soap_observer observe;
  /** The rank of every device; NULL: spread evenly, in order. Every rank has a
   * device. */
  const uint32_t *map;
  size_t map_count;
  /** Seconds (0.1 to 1000000) without a sign of life after which a process is
   * lost; 0: 10. What the processes do meanwhile does not count: a thread of
   * the runtime gives the signs. The first model's counts. */
  double timeout_seconds;
  /** Called by a thread of the runtime, with one line that names the rank, host
   * and process, when another process is lost: this one cannot go on, and is
   * expected to end; exit() does not wait for MPI then. When this has returned,
   * steps and other collective calls fail with the line, and SIGTERM ends the
   * program again. The first model's counts, and its `user` must be valid until
   * the program ends. NULL: print the line on stderr and end with code 1. */
  void (*lost)(const char *line, void *user);
  /** If not 0, every directed pair of devices is a link of this bandwidth, in
   * bytes/s (1 at least): messages keep it one after the other, in the order in
   * which both ends have come, and are there `link_latency_ns` later. Makes
   * communication slow, to see what overlaps with it; one host only. */
  double link_bandwidth;
  uint64_t link_latency_ns;
  /** Not 0: hash all of the weights file, which reads it once more. By default
   * its size, header and some blocks are compared with those of the file that
   * was written with the model. */
  int check_weights;
  /** How many devices of this host share a GPU: devices 0 to n - 1 the first
   * one, and so on. 0: 1. Above 1, the model must be one for GPUs. */
  uint32_t devices_per_gpu;
  /** What moves data between GPUs. */
  soap_gpu_transport gpu_transport;
  /** Not 0: compute with denormal numbers (below 1.2e-38 in f32, 2.2e-308 in
   * f64) on CPUs as IEEE 754 says, which may take a hundred times as long. By
   * default the threads of devices take them for zeros. */
  int keep_denormals;
} soap_load_options;

/** The rank that a launcher gave to this process; without one, 0. Before any
 * model is loaded, too. */
uint32_t soap_launch_rank(void);

/** Connects this process with those that a launcher started with it, as loading
 * the first model does, with its `transport`, `timeout_seconds`, `lost` and
 * `warning`. From then on they know of each other's life, so it stands before
 * long work that not all of them do alike. Nothing happens without a launcher.
 * Collective. */
soap_status soap_join(const soap_load_options *options);

/** Loads the model in the shared library `path` and its weights (a safetensors
 * file beside it): checks everything, makes the parameters and the kernels.
 * `options` may be NULL. On failure *model is NULL. Collective. */
soap_status soap_model_load(const char *path, const soap_load_options *options,
                            soap_model **model);

/** Loads a model from a table in memory (copied) with `native_count` native
 * kernels; its weights file is looked up in `directory` (NULL: the working
 * directory). */
soap_status soap_model_load_from_memory(const void *data, size_t size,
                                        const soap_native_kernel *natives,
                                        size_t native_count,
                                        const char *directory,
                                        const soap_load_options *options,
                                        soap_model **model);

/** Waits for a running step, stops the devices' threads and frees the model.
 * NULL is allowed. */
void soap_model_release(soap_model *model);

/*===- What a model is ----------------------------------------------------===*/

typedef struct soap_port {
  const char *name;
  soap_element element;
  size_t rank;
  const int64_t *shape;
  size_t bytes;        /**< Of the whole tensor, dense and row-major. */
  int64_t index_bound; /**< > 0: values must lie in [0, index_bound). */
} soap_port;

/* A model has one program or more, over the same parameters. The first one is
 * what functions mean that name none: "main" of a model for inference; of one
 * for training "train", a step. Such a model may have "eval", too: the model as
 * it is used, with the parameters that the last step has left. */

size_t soap_model_program_count(const soap_model *model);
/** NULL if there is no such program. */
const char *soap_model_program_name(const soap_model *model, size_t program);
/** 0 if there is no such program. */
size_t soap_program_input_count(const soap_model *model, size_t program);
size_t soap_program_output_count(const soap_model *model, size_t program);
/** SOAP_INVALID if there is no such program, input or output. */
soap_status soap_program_input(const soap_model *model, size_t program,
                               size_t index, soap_port *port);
soap_status soap_program_output(const soap_model *model, size_t program,
                                size_t index, soap_port *port);

/** Of the first program, as the next three. */
size_t soap_model_input_count(const soap_model *model);
size_t soap_model_output_count(const soap_model *model);
/** SOAP_INVALID if there is no such input. */
soap_status soap_model_input(const soap_model *model, size_t index,
                             soap_port *port);
soap_status soap_model_output(const soap_model *model, size_t index,
                              soap_port *port);
/** Of all processes. */
size_t soap_model_device_count(const soap_model *model);
/** Of this process among those that run the model together. */
uint32_t soap_model_rank(const soap_model *model);

/** Everything about the model as one JSON object: name, fingerprint, compiler,
 * inputs and outputs (of the first program), programs, strategy, processes,
 * how a step of training was made ("training": loss, label, optimizer, ...),
 * memory per device, cores, kernels with the implementation that each got.
 * NULL, with soap_last_error(), if another process has left. Waits for a
 * running step. Collective. */
const char *soap_model_info(soap_model *model);

/** What one device of a model needs, in bytes. */
typedef struct soap_memory {
  /** The arenas, as the table says. */
  uint64_t activation_bytes, parameter_bytes;
  /** The scratchpad that all launches of library kernels share. */
  uint64_t scratchpad_bytes;
  /** Copies of parameters in the library's layouts. */
  uint64_t reordered_bytes;
  /** Parameters that are read from such copies only, whole pages; given back.
   */
  uint64_t released_bytes;
  /** The largest sum of all while the model loads; a step needs no more. */
  uint64_t peak_bytes;
  /** What communication takes beside buffers, in whatever processes the devices
   * are: a device needs most in one of its own, away from rank 0. */
  uint64_t communication_bytes;
} soap_memory;

/** Describes, for each of the `count` devices of a model table, what it will
 * need on this machine, without loading the model or its native kernels.
 * `cores_per_device` as in soap_load_options: the library's choices depend on
 * it. SOAP_INVALID as soap_model_load(), and if `count` is not the number of
 * devices. */
soap_status soap_plan_memory(const void *data, size_t size,
                             uint32_t cores_per_device, soap_memory *devices,
                             size_t count);

/*===- Running ------------------------------------------------------------===*/

/** Starts one step of a program and returns. `inputs[i]` and `outputs[i]` are
 * dense, row-major host tensors of the ports' sizes that must stay valid until
 * the step has ended; an output that is NULL is not written. Values of an
 * indexing input outside of its bound are SOAP_INVALID. A step that is still
 * running is waited for first. Collective; ranks other than 0 may give NULL. */
soap_status soap_program_run_async(soap_model *model, size_t program,
                                   const void *const *inputs,
                                   void *const *outputs);
/** Of the first program. */
soap_status soap_model_run_async(soap_model *model, const void *const *inputs,
                                 void *const *outputs);
/** Waits for the step that was started last; its failure is returned here.
 * Collective. */
soap_status soap_model_wait(soap_model *model);
/** 1 if no step is running in this process, 0 otherwise. */
int soap_model_is_done(const soap_model *model);
/** Run_async, then wait. */
soap_status soap_program_run(soap_model *model, size_t program,
                             const void *const *inputs, void *const *outputs);
/** Of the first program. */
soap_status soap_model_run(soap_model *model, const void *const *inputs,
                           void *const *outputs);

/** Lets the processes of a model agree whether what each did by itself went
 * well: returns the status of the lowest rank that failed, with its
 * soap_last_error(), on all ranks. Waits for a running step. Collective. */
soap_status soap_model_agree(soap_model *model, soap_status mine);

/** Brings what each process gives to rank 0: entry r of `all` and `sizes` is
 * that of rank r, valid until the next call; on ranks other than 0, `count` is
 * 0. Waits for a running step. Collective. */
soap_status soap_model_gather(soap_model *model, const void *mine, size_t size,
                              const void *const **all, const size_t **sizes,
                              size_t *count);

/** Brings `size` bytes of rank 0 to `data` on all other ranks. Waits for a
 * running step. Collective. */
soap_status soap_model_broadcast(soap_model *model, void *data, size_t size);

/** Nanoseconds of the last step from its start barrier to its end barrier:
 * without feeding inputs and draining outputs. */
uint64_t soap_model_step_ns(const soap_model *model);

/*===- What lasts from step to step ---------------------------------------===*/

/* Parameters that a step of training changes: weights, running statistics, the
 * optimizer's state, and the number of steps ("schedule"). They are whole
 * tensors, dense and row-major, however a strategy splits or copies them. A
 * model for inference has none. */

size_t soap_model_state_count(const soap_model *model);
/** By name, in order. SOAP_INVALID if there is no such tensor. */
soap_status soap_model_state(const soap_model *model, size_t index,
                             soap_port *port);
/** Reads a tensor into `data`, of the size that soap_model_state() says, on
 * rank 0; other ranks may give NULL. Waits for a running step. Collective. */
soap_status soap_model_read_state(soap_model *model, size_t index, void *data);
/** Gives a tensor other elements, those of rank 0; other ranks may give NULL.
 * Waits for a running step. Collective. */
soap_status soap_model_write_state(soap_model *model, size_t index,
                                   const void *data);

/*===- Measuring ----------------------------------------------------------===*/

typedef enum soap_movement_kind {
  SOAP_TRANSFER,
  SOAP_BROADCAST,
  SOAP_ALL_GATHER,
  SOAP_ALL_TO_ALL,
  SOAP_ALL_REDUCE,
  SOAP_REDUCE_SCATTER
} soap_movement_kind;

/** "transfer", "broadcast", "all_gather", ... */
const char *soap_movement_kind_name(soap_movement_kind kind);

typedef enum soap_phase { SOAP_FEED, SOAP_STEP, SOAP_DRAIN } soap_phase;

/** The device id of the host, the source of feeds and target of drains. */
#define SOAP_HOST (-1)

/** What one communication of the last step moved. A transfer has the devices
 * {source, destination} and one number of bytes; a collective its group and
 * bytes per member: of the member's input for all_gather, all_to_all,
 * broadcast, of the whole reduced tensor for reductions. */
typedef struct soap_movement {
  soap_movement_kind kind;
  soap_phase phase;
  const char *name; /**< Of the row that received it (member 0's). */
  size_t device_count, byte_count;
  const int32_t *devices;
  const int64_t *bytes;
} soap_movement;

/** The movements of the last step, counted while they happened, in a fixed
 * order (phase, then the receiver's program); on ranks other than 0, of their
 * own devices. Valid until the next step. Collective. */
soap_status soap_model_movements(soap_model *model,
                                 const soap_movement **movements,
                                 size_t *count);

/** One executed row. Times in ns since the step's start barrier, as the
 * device's process saw it (feeds are negative). */
typedef struct soap_event {
  const char *name;
  const char *kernel; /**< KernelKey of a launch, NULL for other rows. */
  const char *kind;   /**< "launch", "copy", "exchange", "all_reduce", ... */
  uint32_t device;
  uint32_t stream; /**< 0 compute, 1 communication, 2 priority (collectives
                      that do not wait for those of stream 1). */
  uint32_t node;
  int32_t task;
  soap_phase phase;
  int64_t start_ns, end_ns;
  uint64_t bytes; /**< Moved or copied on this device. */
} soap_event;

/** Switches the recording of row times on (1) or off (0, the default) for the
 * steps that follow. */
soap_status soap_model_set_tracing(soap_model *model, int enabled);
/** The rows of the last traced step, by device, stream and start; on ranks
 * other than 0, of their own devices. Valid until the next step. Collective. */
soap_status soap_model_events(soap_model *model, const soap_event **events,
                              size_t *count);

/** A step of a program as the compiler simulated it, in the form of
 * soap_model_events(), by device and start: launches, "copy" and "move" (in
 * stream 1 or 2), without kernels, nodes, tasks and bytes. Empty if the model
 * does not know. Valid until the next call. */
soap_status soap_program_simulation(soap_model *model, size_t program,
                                    const soap_event **events, size_t *count);

/** A process and what it holds. */
typedef struct soap_process {
  const char *host;
  int64_t pid;
  size_t device_count;
  const uint32_t *devices;
  uint64_t arena_bytes;    /**< Of its devices. */
  uint64_t resident_bytes; /**< Of the process. */
  uint64_t rows_run;       /**< By its devices, in all steps since load. */
  /** Rank 0's, for inputs and outputs of other ranks' devices. */
  uint64_t staging_bytes;
} soap_process;

/** The processes that run the model, by rank; on ranks other than 0, itself.
 * Valid until the next call. Collective. */
soap_status soap_model_processes(soap_model *model,
                                 const soap_process **processes, size_t *count);

/** The devices that this process could use, as one JSON object. Valid until the
 * next call in this thread. */
const char *soap_list_devices(void);

#ifdef __cplusplus
}
#endif

#endif /* SOAP_RUNTIME_RUNTIME_H */
