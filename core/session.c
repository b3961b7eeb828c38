/* Implements oomcast.h: owns the arenas, runs the stages, keeps the first error. */
#include "oomcast.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILE_LIMIT = 2 };

#ifdef __EMSCRIPTEN__
#define DEFAULT_BUDGET_BYTES ((size_t)1536 << 20)
#else
#define DEFAULT_BUDGET_BYTES ((size_t)1 << 30)
#endif

typedef struct profile {
    int64_t given_batch;  /* 0: none */
    int64_t given_device; /* its number + 1; 0: none */
    oc_recording recording; /* empty for a CPU profile */
    oc_trace trace;
    oc_analysis analysis;
    oc_job job;
} profile;

struct oc_session {
    oc_budget budget;
    oc_arena trace_arena, scratch;
    oc_arena result_arenas[2]; /* the last answer lives in one, the next is made in the other */
    int result_index;
    oc_interner names;
    oc_error error;         /* of reading: the first, for good */
    oc_error options_error; /* of the last simulation */
    profile *profiles[PROFILE_LIMIT];
    int profile_count;
    int is_finished;
    oc_decision *decisions;
    oc_scale scale;
    const oc_plan *plan; /* of the last answer, as the summary */
    char *summary;
    size_t summary_length;
    oc_columns columns;
};

/* A wrong call changes nothing: the session can be used on. */
static oc_status set_state_error(oc_session *session, const char *message) {
    session->options_error.status = OC_OK;
    return oc_error_set(&session->options_error, OC_STATE, OC_NO_OFFSET, "%s", message);
}

static oc_status open_profile(oc_session *session) {
    profile *new = oc_arena_alloc(&session->trace_arena, 1, sizeof *new);
    if (!new)
        return oc_error_set_memory(&session->error);
    session->profiles[session->profile_count++] = new;
    session->error.profile = session->profile_count - 1;
    return oc_trace_open(&new->trace, &session->trace_arena, &session->names, &session->error);
}

oc_session *oc_session_open(size_t budget_bytes) {
    oc_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->budget.limit_bytes = budget_bytes ? budget_bytes : DEFAULT_BUDGET_BYTES;
    oc_arena_init(&session->trace_arena, &session->budget);
    oc_arena_init(&session->result_arenas[0], &session->budget);
    oc_arena_init(&session->result_arenas[1], &session->budget);
    oc_arena_init(&session->scratch, &session->budget);
    session->error.name = session->options_error.name = oc_status_name(OC_OK);
    session->options_error.profile = -1;
    if (!oc_interner_init(&session->names, &session->trace_arena) || open_profile(session) != OC_OK) {
        oc_session_close(session);
        return NULL;
    }
    return session;
}

static oc_trace *current_trace(oc_session *session) {
    return &session->profiles[session->profile_count - 1]->trace;
}

oc_status oc_session_feed(oc_session *session, const void *bytes, size_t length) {
    if (session->error.status != OC_OK)
        return session->error.status;
    if (session->is_finished)
        return set_state_error(session, "bytes were fed after the session was finished");
    oc_status status = oc_trace_feed(current_trace(session), bytes, length);
    session->error.event_index = current_trace(session)->reader.event_count;
    return status;
}

oc_status oc_session_set_batch(oc_session *session, int64_t batch_size) {
    if (session->error.status != OC_OK)
        return session->error.status;
    if (session->is_finished || batch_size < 1 || batch_size > OC_LARGEST_BATCH)
        return set_state_error(session, "a recorded batch size must be from 1 to 100000000 and be given before the profile is finished");
    session->profiles[session->profile_count - 1]->given_batch = batch_size;
    return OC_OK;
}

oc_status oc_session_set_device(oc_session *session, int64_t device_id) {
    enum { LARGEST_DEVICE = 1000 };
    if (session->error.status != OC_OK)
        return session->error.status;
    if (session->is_finished || device_id < 0 || device_id > LARGEST_DEVICE)
        return set_state_error(session, "a device must be from 0 to 1000 and be given before the profile is finished");
    session->profiles[session->profile_count - 1]->given_device = device_id + 1;
    return OC_OK;
}

oc_status oc_session_next_profile(oc_session *session) {
    if (session->error.status != OC_OK)
        return session->error.status;
    if (session->is_finished || session->profile_count == PROFILE_LIMIT)
        return set_state_error(session, "a session takes two profiles at most: the same job at two batch sizes");
    oc_status status = oc_trace_finish(current_trace(session));
    return status == OC_OK ? open_profile(session) : status;
}

static oc_status analyze_profile(oc_session *session, int index) {
    profile *p = session->profiles[index];
    session->error.profile = index;
    oc_status status = oc_recording_read(&p->recording, &p->trace, p->given_device - 1, &session->trace_arena, &session->error);
    if (status == OC_OK && p->recording.count && session->profile_count > 1)
        status = oc_error_set(&session->error, OC_MISMATCH, OC_NO_OFFSET,
                              "this profile was recorded on a GPU: it is shown as it is, so give it alone; to estimate other batch sizes, record two on the CPU");
    if (status == OC_OK)
        status = oc_analyze(&p->analysis, &p->trace, &session->names, &session->trace_arena, &session->scratch, &session->error);
    oc_arena_reset(&session->scratch);
    if (status == OC_OK)
        status = oc_job_read(&p->job, &p->analysis, &session->trace_arena, &session->scratch, &session->error);
    oc_arena_reset(&session->scratch);
    if (p->given_batch) {
        p->job.batch_size = p->given_batch;
        p->job.batch_source = OC_BATCH_GIVEN;
    }
    return status;
}

static oc_status match_profiles(oc_session *session) {
    profile *a = session->profiles[0], *b = session->profile_count > 1 ? session->profiles[1] : NULL;
    session->error.profile = -1;
    session->decisions = oc_rules_decide(&a->analysis, &a->job, &session->trace_arena, &session->scratch);
    oc_arena_reset(&session->scratch);
    if (!session->decisions)
        return oc_error_set_memory(&session->error);
    session->scale.batch = a->job.batch_size;
    if (!b)
        return OC_OK;
    oc_status status = oc_scale_match(&session->scale, &a->analysis, &a->job, &b->analysis, &b->job, &session->trace_arena, &session->error);
    if (status == OC_OK)
        oc_job_mark_data(&a->job, &a->analysis, session->scale.difference);
    return status;
}

oc_status oc_session_finish(oc_session *session) {
    if (session->error.status != OC_OK)
        return session->error.status;
    if (session->is_finished)
        return set_state_error(session, "the session was finished twice");
    session->is_finished = 1;
    oc_status status = oc_trace_finish(current_trace(session));
    for (int i = 0; status == OC_OK && i < session->profile_count; i++)
        status = analyze_profile(session, i);
    if (status == OC_OK)
        status = match_profiles(session);
    return status;
}

/* ---- simulation ---- */

/* The allocator's settings, and what of them has no effect. */
static void assume_allocator(oc_plan *plan, const oc_options *options) {
    const oc_alloc_conf *conf = &options->alloc_conf;
    const int recorded_version = options->recorded_torch_version, has_fraction = oc_options_allocator(options).fraction_bytes != OC_NO_LIMIT;
    if (conf->allocator.is_uncached)
        oc_assumptions_add(&plan->assumptions, "eager PyTorch on one GPU and one stream, no caching: every tensor is an allocation of the driver, of a multiple "
                           "of 512 bytes; PyTorch's own counters stay 0, reserved is what the driver gives");
    else if (*options->alloc_conf_text)
        oc_assumptions_add(&plan->assumptions, "eager PyTorch on one GPU and one stream, caching allocator with %.200s", options->alloc_conf_text);
    else
        oc_assumptions_add(&plan->assumptions, "eager PyTorch on one GPU and one stream, default caching allocator");
    if (has_fraction)
        oc_assumptions_add(&plan->assumptions, "the need without a limit and the smallest limit are those without the memory fraction%s",
                           conf->allocator.garbage_collection_threshold > 0 ? ", and so without garbage collection" : "");
    if (conf->allocator.garbage_collection_threshold > 0 && !has_fraction)
        oc_warnings_add(&plan->warnings, "idle_allocator_option", 1, OC_NO_OFFSET,
                        "garbage_collection_threshold does nothing without a memory fraction (torch.cuda.set_per_process_memory_fraction)");
    if (*conf->idle_keys)
        oc_warnings_add(&plan->warnings, "idle_allocator_option", 1, OC_NO_OFFSET, "allocator options without an effect on memory: %s", conf->idle_keys);
    if (!options->torch_version && recorded_version && conf->newest_version > recorded_version)
        oc_warnings_add(&plan->warnings, "newer_allocator_option", 1, OC_NO_OFFSET,
                        "the profile was recorded with PyTorch %d.%d, the allocator option %s is known from %d.%d on%s: tell the version of the GPU run",
                        recorded_version / 100, recorded_version % 100, conf->newest_key, conf->newest_version / 100, conf->newest_version % 100,
                        conf->is_newest_sure ? "" : " (uncertain)");
}

/* General assumptions, the same for every job. */
static void assume_surroundings(oc_plan *plan, const oc_session *session, const oc_options *options) {
    const oc_job *job = &session->profiles[0]->job;
    assume_allocator(plan, options);
    oc_assumptions_add(&plan->assumptions, "CUDA context %d MiB (reports: %d to %d, with PyTorch before 1.13 over 1000) and libraries %d MiB beside the allocator: typical "
                       "values, they differ by card and driver", OC_CONTEXT_BYTES >> 20, OC_CONTEXT_LOW_BYTES >> 20, OC_CONTEXT_HIGH_BYTES >> 20, OC_LIBRARY_BYTES >> 20);
    oc_assumptions_add(&plan->assumptions, "workspaces that cuDNN chooses for convolutions cannot be seen from a CPU and are not counted");
    if (!options->gpu && options->capacity_bytes)
        oc_assumptions_add(&plan->assumptions, "no GPU named: workspaces of a card of compute capability 8.x, and no buffers of reductions, which depend on the card");
    if (session->scale.difference)
        oc_assumptions_add(&plan->assumptions, "sizes are a straight line through the two recorded batch sizes %lld and %lld", (long long)session->scale.batch,
                           (long long)session->scale.other_batch);
    if (session->scale.unmatched_count)
        oc_assumptions_add(&plan->assumptions, "%u tensors of at most 512 bytes are in only one of the two profiles (such as one per sample) and are counted "
                           "as in the first", session->scale.unmatched_count);
    if (session->scale.square_count)
        oc_assumptions_add(&plan->assumptions, "%u tensors grow as the square of the batch size, as they did between the recordings", session->scale.square_count);
    if (job->batch_source == OC_BATCH_LOADER || job->batch_source == OC_BATCH_INPUT)
        oc_assumptions_add(&plan->assumptions, "the recorded batch size was read off %s",
                           job->batch_source == OC_BATCH_LOADER ? "the tensors that the DataLoader hands over" : "the first operator's input");
    if (job->unseen_parameter_count)
        oc_assumptions_add(&plan->assumptions, "%u of %u parameters were made before the profile began and are taken from their gradients",
                           job->unseen_parameter_count, job->parameter_count);
    if (job->unseen_frozen_count)
        oc_assumptions_add(&plan->assumptions, "%u weights without a gradient were made before the profile began and are taken from the operators that read them",
                           job->unseen_frozen_count);
    if (job->unseen_batch_count)
        oc_assumptions_add(&plan->assumptions, "the first batch was fetched before the profile began and is taken to be like the next");
}

static void warn_about_job(oc_plan *plan, const oc_session *session) {
    const oc_analysis *a = &session->profiles[0]->analysis;
    const oc_job *job = &session->profiles[0]->job;
    if (job->is_compiled)
        oc_warnings_add(&plan->warnings, "compiled", 1, OC_NO_OFFSET,
                        "the model was compiled (torch.compile): compiled code allocates otherwise on a GPU; record it without compiling");
    if (session->scale.steeper_count)
        oc_warnings_add(&plan->warnings, "steeper_than_linear", session->scale.steeper_count, OC_NO_OFFSET,
                        "%u tensors grow faster than the batch size, but not as its square: at other batch sizes their bytes are not to be relied on; record "
                        "at sizes near the wanted one", session->scale.steeper_count);
    if (job->recurrent_count)
        oc_warnings_add(&plan->warnings, "recurrent", job->recurrent_count, OC_NO_OFFSET,
                        "recurrent layers (LSTM, GRU, RNN) run in cuDNN on a GPU, with a reserve and a workspace of its own choice: their figures are rough");
    if (job->low_precision_count)
        oc_warnings_add(&plan->warnings, "low_precision", job->low_precision_count, OC_NO_OFFSET,
                        "the job computes in half or bfloat16 (%llu matrix products and convolutions): the CPU casts at other places than CUDA, so expect "
                        "the figures to be off by more than those of a float32 recording", (unsigned long long)job->low_precision_count);
    int64_t told_bytes = a->trace->metadata.parameter_bytes, off_bytes = told_bytes > job->parameter_bytes ? told_bytes - job->parameter_bytes : job->parameter_bytes - told_bytes;
    if (told_bytes > 0 && off_bytes > told_bytes / 100)
        oc_warnings_add(&plan->warnings, "parameters_differ", 1, OC_NO_OFFSET,
                        "the recorder counted %lld bytes of parameters, %lld were found in the profile: the figures may be off by as much", (long long)told_bytes,
                        (long long)job->parameter_bytes);
    if (a->steps.count == 1)
        oc_warnings_add(&plan->warnings, "one_step", 1, OC_NO_OFFSET,
                        "the profile holds one optimizer step only: what later iterations find already there (optimizer state, last outputs) is partly "
                        "assumed; record three iterations");
    if (!job->has_shapes)
        oc_warnings_add(&plan->warnings, "no_shapes", 1, OC_NO_OFFSET,
                        "the profile has no shapes, from which the batch size, frozen weights and some of CUDA's temporaries are told: the figures may be off by 5 %%; "
                        "record with record_shapes=True");
    if (!job->parameter_bytes)
        oc_warnings_add(&plan->warnings, "no_parameters", 1, OC_NO_OFFSET,
                        "no parameters were found: the model was built before the profile began and nothing is trained in it, so its weights are missing in "
                        "all figures; start the profile before building the model");
    int has_batch = 0;
    for (uint32_t i = 0; i < a->block_count && !has_batch; i++)
        has_batch = a->blocks[i].kind == OC_BLOCK_BATCH && !a->blocks[i].is_scratch;
    if (a->loads.count && !has_batch)
        oc_warnings_add(&plan->warnings, "unseen_batches", a->loads.count, OC_NO_OFFSET,
                        "the DataLoader's batches were made in worker processes, which the profiler does not see: they are missing in all figures; record "
                        "with num_workers=0");
}

/* A job whose last recorded iteration needs more than all before it may need still more later: a leak, or too short a recording. */
static void warn_about_growth(oc_plan *plan, const oc_analysis *a, const oc_usage *usage, uint32_t count) {
    if (a->iteration_count < 3)
        return;
    int64_t before = 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t *highest = plan->requests[i].time_ns < a->iteration_starts[a->iteration_count - 1] ? &before : &last;
        *highest = usage[i].tensor_bytes > *highest ? usage[i].tensor_bytes : *highest;
    }
    if (last - before > before / 200)
        oc_warnings_add(&plan->warnings, "still_growing", 1, OC_NO_OFFSET,
                        "the tensors of the last recorded iteration take more than those of every one before it (%lld against %lld bytes): memory may go on growing; record "
                        "more iterations", (long long)last, (long long)before);
}

/* Operators whose CUDA kernels take scratch of a library: how many, the first names, and what they made of the peak. */
static void warn_about_missing_rules(oc_plan *plan, const oc_session *session, const oc_run *need) {
    enum { NAMES = 4 };
    const oc_analysis *a = &session->profiles[0]->analysis;
    uint32_t names[NAMES] = {0}, count = 0, name_count = 0;
    int has_more = 0;
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!(a->own[i] & OC_CLASS_NO_RULE) || a->ops[i].at.start_ns < a->first_ns || oc_windows_find(&a->loads, a->ops[i].at.start_ns))
            continue; /* what the DataLoader does stays on the host */
        if (a->ops[i].at.parent != OC_NONE && (a->around[a->ops[i].at.parent] & OC_CLASS_NO_RULE))
            continue;
        count++;
        uint32_t k = 0;
        while (k < name_count && names[k] != a->ops[i].name)
            k++;
        if (k == name_count && k < NAMES)
            names[name_count++] = a->ops[i].name;
        has_more |= k == NAMES;
    }
    if (!count)
        return;
    int64_t bytes = 0;
    for (uint32_t i = 0; need->request_count && i <= need->peak_allocated_at; i++) {
        const oc_tensor *tensor = &plan->tensors[plan->requests[i].tensor];
        if (tensor->op != OC_NONE && (a->own[tensor->op] & OC_CLASS_NO_RULE))
            bytes += plan->requests[i].bytes ? tensor->bytes : -tensor->bytes;
    }
    char list[NAMES * 40] = "";
    for (uint32_t k = 0; k < name_count; k++) {
        size_t length = strlen(list);
        (void)snprintf(list + length, sizeof list - length, "%s%.30s", k ? ", " : "", oc_intern_text(&session->names, names[k], NULL));
    }
    oc_warnings_add(&plan->warnings, "no_rule", count, OC_NO_OFFSET,
                    "CUDA does %s%s with scratch of its libraries, of unknown size, for which there is no rule; what they made is %.1f %% of the peak", list, has_more ? " and others" : "",
                    need->peak.tensor_bytes ? 100 * (double)bytes / (double)need->peak.tensor_bytes : 0.0);
}

/* The settings for the run on a device with any amount of memory. */
static oc_allocator_options without_limit(oc_allocator_options settings) {
    settings.fraction_bytes = OC_NO_LIMIT;
    settings.range_bytes = 2 * OC_LARGEST_BLOCK;
    return settings;
}

/* All runs of the allocator for one plan. */
static oc_status run_plan(oc_session *session, oc_findings *f, const oc_plan *plan, int64_t limit_bytes, oc_arena *arena) {
    oc_run *runs = oc_arena_alloc(arena, 4, sizeof *runs);
    oc_usage *need_usage = oc_arena_alloc(arena, plan->request_count, sizeof *need_usage);
    oc_usage *usage = limit_bytes ? oc_arena_alloc(arena, plan->request_count, sizeof *usage) : need_usage;
    oc_allocator *allocator = oc_allocator_open(arena, plan->tensor_count);
    if (!runs || !need_usage || !usage || !allocator)
        return oc_error_set_memory(&session->options_error);
    oc_run *need = &runs[0], *run = limit_bytes ? &runs[1] : need, *rising = &runs[2], *near = &runs[3];
    const oc_options *options = f->options;
    const oc_allocator_options settings = oc_options_allocator(options), unlimited = without_limit(settings);
    oc_allocator_options lenient = settings;
    lenient.near_fit = OC_NEAR_FIT;
    const oc_request *requests = plan->requests;
    const uint32_t count = plan->request_count;
    if (!oc_simulate(allocator, &unlimited, requests, count, OC_NO_LIMIT, 0, need_usage, need) ||
        (limit_bytes && !oc_simulate(allocator, &settings, requests, count, limit_bytes, 0, usage, run)) ||
        !oc_simulate(allocator, &settings, requests, count, limit_bytes ? limit_bytes : OC_NO_LIMIT, 1, NULL, rising) ||
        !oc_simulate(allocator, &lenient, requests, count, limit_bytes ? limit_bytes : OC_NO_LIMIT, 0, NULL, near) ||
        !oc_simulate_minimum(allocator, &unlimited, requests, count, need, &f->minimum_bytes))
        return oc_error_set_memory(&session->options_error);
    f->need = need;
    f->need_usage = need_usage;
    f->run = run;
    f->usage = usage;
    f->run_rising = rising;
    f->run_near = near;
    return OC_OK;
}

/* The same for a GPU recording: the run without a limit is as recorded; the other is made only where something is changed. */
static oc_status run_recording(oc_session *session, oc_findings *f, oc_plan *plan, int64_t limit_bytes, oc_arena *arena) {
    const oc_options *options = f->options;
    oc_run *runs = oc_arena_alloc(arena, 3, sizeof *runs);
    oc_usage *recorded = NULL;
    if (!runs)
        return oc_error_set_memory(&session->options_error);
    oc_status status = oc_recording_plan(plan, f->recording, f->subject, options, &recorded, &runs[0], arena, &session->options_error);
    if (status != OC_OK)
        return status;
    f->need = f->run = f->run_rising = &runs[0];
    f->need_usage = f->usage = recorded;
    const int is_changed = *options->alloc_conf_text || options->alloc_conf.allocator.is_uncached;
    oc_allocator_options settings = oc_options_allocator(options);
    oc_allocator *allocator = oc_allocator_open(arena, plan->tensor_count);
    oc_usage *usage = oc_arena_alloc(arena, plan->request_count, sizeof *usage);
    settings.aside_bytes = allocator ? oc_recording_aside(f->recording, allocator, plan, settings.is_uncached) : -1;
    const oc_allocator_options unlimited = without_limit(settings);
    if (settings.aside_bytes < 0 || !usage || !oc_recording_minimum(allocator, &unlimited, plan, &f->minimum_bytes))
        return oc_error_set_memory(&session->options_error);
    const int64_t recorded_bytes = oc_round_up(runs[0].peak.reserved_bytes, OC_kRoundLarge); /* enough as it ran */
    if (f->minimum_bytes > recorded_bytes && !is_changed)
        f->minimum_bytes = recorded_bytes;
    int64_t limit = limit_bytes ? limit_bytes : OC_NO_LIMIT;
    if (!is_changed && runs[0].peak.reserved_bytes <= (limit < settings.fraction_bytes ? limit : settings.fraction_bytes))
        return OC_OK;
    if (!oc_recording_simulate(allocator, &settings, plan, limit, 1, NULL, &runs[2]) ||
        !oc_recording_simulate(allocator, &settings, plan, limit, 0, usage, &runs[1]))
        return oc_error_set_memory(&session->options_error);
    f->run = &runs[1];
    f->usage = usage;
    f->run_rising = &runs[2];
    return OC_OK;
}

static void assume_recording(oc_plan *plan, const oc_session *session, const oc_options *options, int is_simulated) {
    const oc_recording *recording = &session->profiles[0]->recording;
    oc_assumptions_add(&plan->assumptions, "recorded on GPU %lld%s: allocated and reserved are as its allocator counted them", (long long)recording->device_id,
                       recording->device_count > 1 ? ", the busiest of several unless one was chosen" : "");
    if (plan->tensors[0].bytes)
        oc_assumptions_add(&plan->assumptions, "%lld bytes were allocated before the profile began and stay; what they are is not known, they are shown as buffers",
                           (long long)plan->tensors[0].bytes);
    if (!is_simulated)
        return;
    assume_allocator(plan, options);
    oc_assumptions_add(&plan->assumptions, "the recorded requests were simulated again; their sizes are blocks, rounded already, and which blocks were cached when "
                       "the profile began is not known");
}

/* Finds the largest batch and makes it the one that is asked for; the report of batch 1 tells why if there is none. */
static oc_status find_largest(oc_session *session, oc_largest *largest, const oc_subject *subject, oc_options *options) {
    const oc_allocator_options settings = oc_options_allocator(options);
    if (session->profiles[0]->recording.count)
        return oc_error_set(&session->options_error, OC_OPTIONS, OC_NO_OFFSET, "the largest batch needs two profiles recorded on the CPU: this one is of a GPU");
    oc_status status =
        oc_largest_find(largest, subject, options, &settings, oc_options_usable(options), &session->scratch, &session->options_error);
    options->batch = largest->batch ? largest->batch : 1;
    return status;
}

static oc_status answer(oc_session *session, oc_options *options, oc_arena *arena) {
    const profile *first = session->profiles[0];
    const oc_analysis *other = session->profile_count > 1 ? &session->profiles[1]->analysis : NULL;
    oc_subject subject = {&first->analysis, &first->job, session->decisions, &session->scale, other};
    oc_plan *plan = oc_arena_alloc(arena, 1, sizeof *plan);
    if (!plan)
        return oc_error_set_memory(&session->options_error);
    options->recorded_torch_version = oc_subject_torch(&subject);
    oc_largest largest;
    oc_status status = options->task == OC_TASK_MAX_BATCH ? find_largest(session, &largest, &subject, options) : OC_OK;
    if (status != OC_OK)
        return status;
    oc_findings findings = {.subject = &subject,
                            .options = options,
                            .plan = plan,
                            .largest = options->task == OC_TASK_MAX_BATCH ? &largest : NULL,
                            .recording = first->recording.count ? &first->recording : NULL};
    findings.usable_bytes = oc_options_usable(options);
    if (findings.recording) {
        status = run_recording(session, &findings, plan, findings.usable_bytes, arena);
        if (status == OC_OK)
            assume_recording(plan, session, options, findings.run != findings.need);
    } else {
        status = oc_orchestrate(plan, &subject, options, arena, &session->options_error);
        if (status == OC_OK) {
            assume_surroundings(plan, session, options);
            warn_about_job(plan, session);
            status = run_plan(session, &findings, plan, findings.usable_bytes, arena);
        }
    }
    if (status != OC_OK)
        return status;
    int64_t fraction_bytes = oc_options_allocator(options).fraction_bytes;
    if (fraction_bytes < findings.usable_bytes)
        findings.usable_bytes = fraction_bytes;
    if (!findings.recording) {
        warn_about_growth(plan, &first->analysis, findings.need_usage, findings.need->request_count);
        warn_about_missing_rules(plan, session, findings.need);
    }
    oc_columns columns = {{NULL}, {0}};
    char *summary = NULL;
    if (oc_report_columns(&columns, &findings, arena))
        summary = oc_report_json(&findings, &columns, arena, &session->scratch);
    oc_arena_reset(&session->scratch);
    if (!summary)
        return oc_error_set_memory(&session->options_error);
    session->columns = columns;
    session->plan = plan;
    session->summary = summary;
    session->summary_length = strlen(summary);
    return OC_OK;
}

oc_status oc_session_simulate(oc_session *session, const char *options_text, size_t length) {
    if (session->error.status != OC_OK)
        return session->error.status;
    if (!session->is_finished)
        return set_state_error(session, "simulate was called before finish");
    session->options_error.status = OC_OK;
    session->options_error.name = oc_status_name(OC_OK);
    session->options_error.message[0] = 0;
    oc_options options;
    oc_status status = oc_options_read(&options, options_text, length, &session->options_error);
    if (status != OC_OK)
        return status;
    int next = !session->result_index;
    status = answer(session, &options, &session->result_arenas[next]);
    if (status == OC_OK)
        session->result_index = next;
    oc_arena_reset(&session->result_arenas[!session->result_index]); /* the old answer, or what a failed one left */
    return status;
}

/* ---- what a session tells ---- */

const char *oc_session_summary(const oc_session *session, size_t *length) {
    if (length)
        *length = session->summary ? session->summary_length : 0;
    return session->summary;
}

const double *oc_session_column(const oc_session *session, oc_column column, size_t *length) {
    int is_there = session->summary && column >= 0 && column < OC_COLUMN_COUNT;
    if (length)
        *length = is_there ? session->columns.length[column] : 0;
    return is_there ? session->columns.data[column] : NULL;
}

int oc_session_request(const oc_session *session, size_t index, uint32_t *tensor, int64_t *bytes) {
    if (!session->summary || index >= session->plan->request_count)
        return 0;
    *tensor = session->plan->requests[index].tensor;
    *bytes = session->plan->requests[index].bytes;
    return 1;
}

const oc_error *oc_session_error(const oc_session *session) {
    return session->error.status != OC_OK ? &session->error : &session->options_error;
}

void oc_session_facts(const oc_session *session, uint64_t *text_bytes, uint64_t *event_count, size_t *peak_bytes) {
    uint64_t bytes = 0, events = 0;
    for (int i = 0; i < session->profile_count; i++) {
        bytes += session->profiles[i]->trace.reader.offset;
        events += session->profiles[i]->trace.reader.event_count;
    }
    if (text_bytes)
        *text_bytes = bytes;
    if (event_count)
        *event_count = events;
    if (peak_bytes)
        *peak_bytes = session->budget.peak_bytes;
}

void oc_session_close(oc_session *session) {
    if (!session)
        return;
    oc_arena_close(&session->trace_arena);
    oc_arena_close(&session->result_arenas[0]);
    oc_arena_close(&session->result_arenas[1]);
    oc_arena_close(&session->scratch);
    free(session);
}

char *oc_gpus_json(void) {
    return oc_report_gpus();
}

void oc_free_text(char *text) {
    free(text);
}
