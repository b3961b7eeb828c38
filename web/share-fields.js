// What a link carries, field by field, and how each is checked when it is read: a record becomes a plain list without names.
// Nothing of a link is used before it has passed here. Texts lose control and direction characters and are only ever shown as text.

import { ALLOC_CONF_LENGTH, FOREACH, LARGEST_BATCH, ZERO_GRAD } from "./state.js";

const PHASES = ["parameters", "forward", "backward", "optimizer step", "other"];
const CATEGORIES = ["parameter", "buffer", "gradient", "optimizer state", "activation", "batch", "temporary", "workspace"];
const VERDICTS = ["fits", "tight", "oom", null];
/** The link holds positions in this list, as in all lists of words: new ones come at its end, none ever goes or moves. */
export const OPTIMIZER_WORDS = [
  "recorded", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adafactor", "SGD+momentum", "Adam+amsgrad", "AdamW+amsgrad", "NAdam", "RAdam", "Adamax", "Adadelta",
];
const SCALINGS = ["recorded", "two-profiles", "inferred"];
const DEVICES = ["cuda", "hip", "other"];
const EXAMPLES = ["", "cnn", "transformer"];

/** A value of a link that is not what it should be. */
export class FieldError extends Error {}

const check = (condition, value) => {
  if (!condition) throw new FieldError();
  return value;
};
const printable = (value) => value.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, " ");

const text = (longest) => ({
  pack: (value) => printable(String(value)).slice(0, longest),
  unpack: (value) => check(typeof value === "string" && value.length <= longest, value) && printable(value),
});
const number = (highest = Number.MAX_SAFE_INTEGER) => ({
  pack: (value) => value,
  unpack: (value) => check(Number.isInteger(value) && value >= 0 && value <= highest, value),
});
const time = { pack: (value) => Math.round(value * 100) / 100, unpack: (value) => check(Number.isFinite(value) && Math.abs(value) <= 1e12, value) }; // a phase may begin just before the first event
const word = (words) => ({
  pack: (value) => Math.max(0, words.indexOf(value)),
  unpack: (value) => words[check(Number.isInteger(value) && value >= 0 && value < words.length, value)],
});
const maybe = (kind) => ({
  pack: (value) => (value === null || value === undefined ? null : kind.pack(value)),
  unpack: (value) => (value === null ? null : kind.unpack(value)),
});
const list = (kind, most) => ({
  pack: (values) => values.slice(0, most).map(kind.pack),
  unpack: (values) => check(Array.isArray(values) && values.length <= most, values).map(kind.unpack),
});
/** For fields at a record's end: links made before the field existed lack it, and so does one where it says nothing. */
const later = (kind, absent) => ({ ...kind, absent });
const record = (fields) => {
  const kinds = Object.entries(fields);
  return {
    pack: (value) => {
      const values = kinds.map(([name, kind]) => kind.pack(value[name]));
      while (values.length && values.at(-1) === kinds[values.length - 1][1].absent) values.pop();
      return values;
    },
    unpack: (values) => {
      check(Array.isArray(values) && values.length <= kinds.length, values);
      return Object.fromEntries(kinds.map(([name, kind], i) => [name, i < values.length ? kind.unpack(values[i]) : check("absent" in kind, kind).absent]));
    },
  };
};

const bytes = number();
const moment = record({ time_ms: time, iteration: number(1e9), phase: word(PHASES), op: maybe(text(120)), module: maybe(text(400)) });
const owner = record({ category: word(CATEGORIES), module: maybe(text(400)), op: maybe(text(120)), count: number(1e9), bytes });

const summary = record({
  oomcast: text(20),
  verdict: word(VERDICTS),
  peak: record({ tensor_bytes: bytes, allocated_bytes: bytes, reserved_bytes: bytes, device_bytes: bytes, at: maybe(moment) }),
  need: record({ allocated_bytes: bytes, reserved_bytes: bytes }),
  minimum_capacity_bytes: bytes,
  band: record({ low_bytes: bytes, high_bytes: bytes, why: text(300) }),
  outside: record({ context_bytes: bytes, library_bytes: bytes }),
  gpu: maybe(record({ name: maybe(text(80)), total_bytes: bytes, usable_bytes: bytes })),
  job: record({
    batch_size: maybe(number(LARGEST_BATCH)), recorded_batch_sizes: list(number(LARGEST_BATCH), 2), scaling: word(SCALINGS), optimizer: maybe(text(80)),
    parameter_bytes: bytes, buffer_bytes: bytes, gradient_bytes: bytes, optimizer_state_bytes: bytes, iterations: number(1e9),
  }),
  at_peak: record(Object.fromEntries([...CATEGORIES.map((name) => name.replace(" ", "_")), "rounding", "cached"].map((name) => [`${name}_bytes`, bytes]))),
  phases: list(record({ phase: word(PHASES), iteration: number(1e9), start_ms: time, end_ms: time, peak_allocated_bytes: bytes, peak_reserved_bytes: bytes }), 24),
  owners: list(owner, 10),
  oom: maybe(record({
    bytes, at: moment, allocated_bytes: bytes, reserved_bytes: bytes, cached_bytes: bytes, largest_free_block_bytes: bytes, retries: number(1e9),
    released_bytes: bytes, live: list(owner, 5),
  })),
  warnings: list(record({ code: text(60), count: bytes, first_offset: maybe(bytes), message: text(300) }), 12),
  assumptions: list(text(300), 16),
  recording: later(maybe(record({
    device: word(DEVICES), device_id: number(1e6), devices: number(1e6), events: bytes, before_bytes: bytes, is_simulated: word([false, true]),
  })), null),
});

const settings = record({
  gpu: text(80), capacityText: text(40), batch: maybe(number(LARGEST_BATCH)), optimizer: word(OPTIMIZER_WORDS), foreach: word(FOREACH), zeroGrad: word(ZERO_GRAD),
  reserveText: text(40), torch: text(20), allocConf: later(text(ALLOC_CONF_LENGTH), ""),
});

/** The whole of a link but its curves. `endMs` is the length of the time axis. */
export const carried = record({
  inputs: list(record({ name: text(200), sizeBytes: bytes, batch: later(maybe(number(LARGEST_BATCH)), null) }), 2), example: word(EXAMPLES), settings, summary, endMs: time,
});
