// Inputs that are no good profile, made from the bundled ones or from a few bytes, with the exact message they must give.
// `make` returns the bytes of one or two files; `message` follows "oomcast: FILE: ". Shared by the command line and wasm tests.
import { readFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

const HOW = "Record one on the CPU: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, " +
  "record_shapes=True, with_stack=True, with_modules=True), then export_chrome_trace(); or use examples/record.py.";

export const example = (name) => readFileSync(new URL(`../../examples/${name}`, import.meta.url));
const text = (name) => gunzipSync(example(name)).toString("latin1"); // bytes stay bytes
const bytes = (value) => Buffer.from(value, "latin1");

/** The example without the events that `drop` says yes to. */
function without(name, drop) {
  const [head, ...rest] = text(name).split("\n  {\n");
  const last = rest.pop();
  return bytes([head, ...rest.filter((event) => !drop(event)), last].join("\n  {\n"));
}

export const CASES = [
  { name: "empty file", make: () => [Buffer.alloc(0)], message: `the file is empty. ${HOW}` },
  { name: "white space", make: () => [bytes(" \n\t ")], message: `the file holds nothing but white space. ${HOW}` },
  { name: "plain text", make: () => [bytes("epoch 1 loss 0.3\n")], message: `this is plain text, not a profile. ${HOW}` },
  { name: "HTML page", make: () => [bytes("<!doctype html><html></html>")], message: `this is an HTML or XML page, not a profile. ${HOW}` },
  { name: "PNG image", make: () => [bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR")], message: `this is a PNG image, not a profile. ${HOW}` },
  { name: "CUDA snapshot as pickle", make: () => [bytes("\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x08segments")],
    message: `this is a Python pickle (a CUDA memory snapshot of torch.cuda.memory._dump_snapshot, or a saved model), not a profile. ${HOW}` },
  { name: "CUDA snapshot as JSON", make: () => [bytes('{"segments": [{"address": 1}], "device_traces": [[]]}')],
    message: `this is a CUDA memory snapshot, not a profile. ${HOW}` },
  { name: "TensorBoard event file", make: () => [bytes("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\xc0\x50\x2d\xd1\xda\x41\x1a\x0dbrain.Event:2")],
    message: `this is a TensorBoard event file, not a profile. ${HOW}` },
  { name: "model file", make: () => [bytes("PK\x03\x04\0\0\x08\x08")],
    message: `this is a ZIP archive (a model that torch.save wrote, or a zipped profile: unpack it first), not a profile. ${HOW}` },
  { name: "execution trace", make: () => [bytes('{"schema": "1.0.1", "pid": 1, "nodes": [{"id": 1}]}')],
    message: `this is an execution trace (ExecutionTraceObserver), not a profile. ${HOW}` },
  { name: "memory timeline", make: () => [bytes("[[1, 2, 3], [4, 5, 6]]")],
    message: `this JSON array holds no trace events (a memory timeline that export_memory_timeline wrote looks like that). ${HOW}` },
  { name: "other JSON", make: () => [bytes('{"model": "x", "layers": 3}')],
    message: `this JSON file has no "traceEvents" (its first key is "model"). ${HOW}` },
  { name: "not JSON after a brace", make: () => [bytes("{traceEvents: []}")],
    message: "not valid JSON at byte 1 (found 't' where a key or value should begin): this is no file that torch.profiler wrote" },
  { name: "trace without operators", make: () => [bytes('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1}]}')],
    message: `this trace has no CPU operators of PyTorch in it (1 events, 1 of a GPU). ${HOW}` },
  { name: "keys without their opening quotes (pytorch 33961)", make: () => [bytes(text("cnn-b4.json.gz").replaceAll('"tid":', 'tid":'))],
    message: /^\d+ of \d+ events are no valid JSON, the first at byte \d+, and the others hold no CPU operators: this is no file that torch\.profiler wrote$/ },
  { name: "GPU profile without totals", make: () => [bytes(text("cnn-b4.json.gz").replaceAll('"Device Type": 0', '"Device Type": 1').replaceAll('"Total Allocated"', '"Total"'))],
    message: /^this profile was recorded on a GPU and its \d+ memory events have no addresses or totals \(torch 1\.11 and older\): record with a newer torch, or the same job on the CPU\. / },
  { name: "no memory events", make: () => [without("cnn-b4.json.gz", (event) => event.includes("[memory]"))].map((b) => bytes(b.toString("latin1").replace('"profile_memory": 1,', ""))),
    message: `this profile has no memory events: it was recorded without profile_memory=True. ${HOW}` },
  { name: "no memory events in spite of the flag", make: () => [without("cnn-b4.json.gz", (event) => event.includes("[memory]"))],
    message: "this profile says profile_memory=True but has no memory events (torch loses them with profile_all_threads=True, pytorch issue 166121): " +
      `record without that option. ${HOW}` },
  { name: "JSON cut off", make: () => [bytes(text("cnn-b4.json.gz").slice(0, 200000))],
    message: /^the file is cut off at byte 200000 \(\d+ events were read\): copy it again, or record again and let the export finish$/ },
  { name: "JSON cut off before one whole iteration's memory events", make: () => { const t = gunzipSync(example("cnn-b4.json.gz")); return [t.subarray(0, t.indexOf('"[memory]"') + 100000)]; },
    message: /^the file is cut off at byte \d+ \(\d+ events were read\): copy it again, or record again and let the export finish$/ },
  { name: "gzip cut off", make: () => [example("cnn-b4.json.gz").subarray(0, 60000)],
    message: /^the gzip file is cut off after 60000 bytes \(inside its data, \d+ events were read\): copy it again, or record again and let the export finish$/ },
  { name: "gzip damaged", make: () => { const b = Buffer.from(example("cnn-b4.json.gz")); b.fill(0xff, 30000, 30100); return [b]; },
    message: /^damaged gzip data near byte \d+ of the compressed file \(.+\): copy or record the profile again$/ },
  { name: "two jobs", make: () => [example("cnn-b4.json.gz"), example("transformer-b8.json.gz")], file: null,
    message: "the two profiles are not of the same job: a parameter of 6912 bytes in the first one has 8388608 in the second. " +
      "Record both with the same model, only the batch size changed" },
  { name: "the same batch size twice", make: () => [example("cnn-b4.json.gz"), example("cnn-b4.json.gz")], file: null,
    message: "both profiles were recorded at batch size 4: record the second one at another batch size, for example 8; if the sizes were others, give them " +
      "(--recorded-batch)" },
  { name: "second file is no profile", make: () => [example("cnn-b4.json.gz"), bytes("hello")], file: 1, message: `this is plain text, not a profile. ${HOW}` },
];

function changed(before, change) {
  const after = change(before);
  if (after === before) throw new Error("this case changes nothing");
  return bytes(after);
}

/** Profiles that are odd but must load, with the code of their warning; their figures equal those of the profile they were made of. */
export const SURVIVORS = [
  { name: "plain JSON", make: () => gunzipSync(example("cnn-b4.json.gz")) },
  { name: "several gzip members", make: () => { const t = gunzipSync(example("cnn-b4.json.gz")); return Buffer.concat([gzipSync(t.subarray(0, 99999)), gzipSync(t.subarray(99999))]); } },
  { name: "bytes after the gzip data", make: () => Buffer.concat([example("cnn-b4.json.gz"), Buffer.alloc(512)]), code: "gzip_trailing_bytes" },
  { name: "JSON cut off behind the memory events", code: "truncated", make: () => { const t = gunzipSync(example("cnn-b4.json.gz")); return t.subarray(0, t.lastIndexOf('"python_function"')); } },
  { name: "gzip cut off behind the memory events", code: "truncated", make: () => { const b = example("cnn-b4.json.gz"); return b.subarray(0, b.length - 200); } },
  { name: "byte order mark", make: () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), gunzipSync(example("cnn-b4.json.gz"))]) },
  { name: "one line", make: () => Buffer.from(JSON.stringify(JSON.parse(gunzipSync(example("cnn-b4.json.gz"))))) },
  { name: "indented by another tool", make: () => Buffer.from(JSON.stringify(JSON.parse(gunzipSync(example("cnn-b4.json.gz"))), null, 4)) },
  { name: "array form", make: () => Buffer.from(JSON.stringify(JSON.parse(gunzipSync(example("cnn-b4.json.gz"))).traceEvents)), loses: "metadata" },
  { name: "events in another order", make: () => { const p = JSON.parse(gunzipSync(example("cnn-b4.json.gz"))); p.traceEvents.reverse(); return Buffer.from(JSON.stringify(p)); } },
  // public reports, by their numbers in pytorch (p) and kineto (k)
  ...[
    ["a Windows path as traceName (k617)", (t) => t.replace(/"traceName": "[^"]*"/, () => '"traceName": "C:\\Users\\x\\trace.json"')],
    ["Windows paths in a call stack (p60187)", (t) => t.replace(/("name": "aten::conv2d"[^]*?"args": \{)/, (head) => `${head}\n      "Call stack": "C:\\Users\\x\\train.py(3): step",`)],
    ["memory events as operators (p71417)", (t) => t.replaceAll('"cat": "cpu_instant_event"', '"cat": "cpu_op"')],
    ["memory events without a category (1.9)", (t) => t.replaceAll('"cat": "cpu_instant_event", ', "")],
    ["\"Input dims\" (1.8)", (t) => t.replaceAll('"Input Dims"', '"Input dims"')],
    ["ids as texts", (t) => t.replaceAll(/"(pid|tid)": (\d+)/g, '"$1": "$2"')],
    ["times as texts", (t) => t.replaceAll(/"(ts|dur)": ([\d.]+)/g, '"$1": "$2"')],
    ["Windows line ends", (t) => t.replaceAll("\n", "\r\n")],
    ["tabs", (t) => t.replaceAll("\n    ", "\n\t\t")],
    ["an event whose time is NaN", (t) => t.replace('"traceEvents": [\n', '"traceEvents": [\n  {\n    "ph": "X", "cat": "python_function", "name": "x", "pid": 1, "tid": 0,\n    "ts": NaN\n  },\n')],
  ].map(([name, change]) => ({ name, make: () => changed(text("cnn-b4.json.gz"), change) })),
  ...[
    ["control bytes in a python frame", "a\x01b\x02c", "damaged_frame"],
    ["cut UTF-8 in a python frame", "a\xf0\x9f", "damaged_frame"],
    ["unescaped quotes in a python frame", '{"device": "cpu", "dtype": "float32"}(12): run', "unescaped_name"],
    ["an odd unescaped quote in a python frame", 'say "(12): run', "unescaped_name"],
    ["Windows paths in a python frame", "C:\\Users\\x\\train.py(3): step", null],
  ].map(([name, frame, code]) => ({ name, code, make: () => bytes(text("cnn-b4.json.gz").replace('"traceEvents": [\n', '"traceEvents": [\n' +
    `  {\n    "ph": "X", "cat": "python_function", "name": "${frame}", "pid": 1, "tid": 1,\n    "ts": 1.000, "dur": 2.000,\n    "args": {\n      "Python id": 1\n    }\n  },\n`)) })),
];
