/* The result of a simulation as JSON (format `oomcast-result`, version OC_RESULT_VERSION) and as columns. */
#ifndef OC_REPORT_H
#define OC_REPORT_H

#include "curve.h"
#include "orchestrate.h"
#include "largest.h"
#include "recording.h"

typedef struct oc_columns {
    const double *data[OC_COLUMN_COUNT];
    size_t length[OC_COLUMN_COUNT];
} oc_columns;

/* All that a report is made of. Runs of falling addresses; the rising and the near ones only widen the band. */
typedef struct oc_findings {
    const oc_subject *subject;
    const oc_options *options;
    const oc_plan *plan;
    const oc_run *run;         /* under the limit, or without one if none was asked for */
    const oc_usage *usage;     /* its state after each request */
    const oc_run *run_rising;
    const oc_run *run_near;    /* with OC_NEAR_FIT; NULL for GPU recordings */
    const oc_run *need;        /* without a limit */
    const oc_usage *need_usage;
    const oc_recording *recording; /* of a GPU: `need` is as recorded, and so is `run` unless it was simulated again; else NULL */
    const oc_largest *largest; /* where the largest batch was asked for, of which this is the report; else NULL */
    int64_t usable_bytes;      /* the limit; 0 if none */
    int64_t minimum_bytes;     /* smallest limit with which the job runs */
} oc_findings;

/* Reduces the curves into `columns`, in `arena`. 0 if out of memory. */
int oc_report_columns(oc_columns *columns, const oc_findings *findings, oc_arena *arena);

/* The JSON text, NUL-terminated, in `arena`. NULL if out of memory. */
char *oc_report_json(const oc_findings *findings, const oc_columns *columns, oc_arena *arena, oc_arena *scratch);

/* The GPU catalogue as a JSON array made by malloc; NULL if out of memory. */
char *oc_report_gpus(void);

#endif
