/* Profile text -> fixed-size records: operators, memory events, annotations, module calls. Everything else (python frames,
 * flows, GPU events) is skipped as early as possible and only counted. Says nothing about meaning; that is analyze's part.
 *
 * Sources: torch.profiler's Chrome trace export (kineto output_json.cpp, torch 1.8 to 2.13); keys are found by name, never by
 * position. Times are exact nanoseconds. Invariant: records lie in file order; every `thread` is an index into `threads`.
 */
#ifndef OC_TRACE_H
#define OC_TRACE_H

#include "bytes.h"
#include "inflate.h"
#include "intern.h"
#include "json.h"

#define OC_NONE UINT32_MAX

enum { OC_THREAD_LIMIT = 4096 };

/* Where an operator or call lies: its time on its thread, both ends included. */
typedef struct oc_extent {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint32_t event_index; /* "Ev Idx": recording order within the profile */
    uint32_t parent;      /* set by analyze: the enclosing extent of the same list, OC_NONE if none */
} oc_extent;

typedef struct oc_op {
    oc_extent at;
    uint32_t name;     /* interned, as all texts below; 0 = not recorded */
    int64_t sequence;  /* autograd's sequence number, -1 if none */
    uint32_t dims;     /* text of "Input Dims" */
    uint32_t strides;  /* text of "Input Strides" */
    uint32_t types;    /* text of "Input type" */
    uint32_t concrete; /* text of "Concrete Inputs" */
} oc_op;

/* An annotation or the call of a module. */
typedef struct oc_span {
    oc_extent at;
    uint32_t name;
} oc_span;

typedef struct oc_memory_event {
    int64_t time_ns;
    uint64_t address;
    int64_t bytes; /* > 0 allocation, < 0 free */
    uint32_t thread;
    uint32_t event_index;
} oc_memory_event;

/* Of the memory of a GPU, whose allocator keeps totals. `memory.bytes` is the size of the block: rounded, unsplit rest included. */
typedef struct oc_device_event {
    oc_memory_event memory;
    int64_t allocated_bytes, reserved_bytes; /* after it */
    int64_t device_type, device_id;          /* c10::DeviceType: 1 CUDA, 6 HIP */
} oc_device_event;

typedef struct oc_thread {
    uint32_t process; /* interned text of the pid */
    uint32_t name;    /* interned text of the tid */
    uint64_t memory_count;
} oc_thread;

/* What record.py wrote under "oomcast"; zero or NULL where absent. */
typedef struct oc_metadata {
    int64_t batch_size;
    int64_t parameter_bytes;
    uint32_t torch_version; /* interned */
} oc_metadata;

typedef struct oc_trace {
    oc_arena *arena;
    oc_interner *names;
    oc_error *error;
    oc_json_reader reader;
    oc_inflate *unzip; /* NULL for plain text */
    uint8_t *text;     /* buffer for inflated text */
    uint8_t magic[2];  /* held back until it is known whether the file is gzip */
    size_t magic_length;
    int is_format_known;
    char head[64];     /* the first bytes, held back until the kind of the file is known */
    size_t head_length;
    int is_head_done;
    uint64_t input_bytes;

    oc_list ops;         /* oc_op */
    oc_list memory;      /* oc_memory_event, of the CPU */
    oc_list device_memory; /* oc_device_event */
    oc_list annotations; /* oc_span */
    oc_list modules;     /* oc_span, calls of an nn.Module */
    oc_thread threads[OC_THREAD_LIMIT];
    uint32_t thread_count;
    uint32_t last_thread, last_op_thread;

    uint64_t device_event_count;  /* kernels, copies */
    uint64_t orphan_memory_count; /* memory events without an address (torch 1.9) */
    uint64_t orphan_device_count; /* such ones of a GPU, or without totals */
    uint64_t impossible_memory_count, impossible_memory_offset; /* memory events with numbers that cannot be, the first of them */
    int profile_memory, record_shapes, with_stack; /* flags in the header: 1, 0, or -1 where the header does not say */
    int has_nodes, has_segments;  /* top-level keys of other JSON files */
    char first_key[64];
    char *repair;           /* buffer for one repaired event */
    size_t repair_capacity;
    int has_fractions;      /* some time is no whole microsecond */
    enum { OC_LAST_OP, OC_LAST_MEMORY, OC_LAST_FRAME } last_kind; /* of the events read so far: a thread's operators, its memory events, frames */
    int64_t last_memory_ns;
    int is_threaded;        /* several threads have operators */
    int is_cut;             /* the file ends too early, but its memory events can be used */
    uint64_t cut_offset;
    int64_t cut_ns;         /* memory events after it are missing; INT64_MAX: none of them */
    oc_metadata metadata;
    oc_warnings warnings;
} oc_trace;

/* Prepares `trace`, which is zeroed memory. OC_OK or OC_MEMORY. */
oc_status oc_trace_open(oc_trace *trace, oc_arena *arena, oc_interner *names, oc_error *error);

/* The next bytes of the file, cut anywhere. */
oc_status oc_trace_feed(oc_trace *trace, const uint8_t *bytes, size_t length);

/* The end of the file: OC_OK if the file is a CPU profile with memory events, else the error that says what it is. A file that is cut off
 * passes if it has some and one thread made all operators: whether they are enough shows in oc_analyze. */
oc_status oc_trace_finish(oc_trace *trace);

/* The error for a file that is cut off too early. */
oc_status oc_trace_refuse_cut(const oc_trace *trace, oc_error *error);

#endif
