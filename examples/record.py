"""Record the memory profile of a PyTorch training job on the CPU, for oomcast.

Copy this file next to your training script. It needs nothing but torch (2.4 or newer is best), no GPU, and changes nothing in your job.

    from record import record

    dataset = ...                                   # here, not in build: a data set stays in host memory

    def build(batch_size):
        model = MyModel()                           # on the CPU, no .cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        batches = iter(DataLoader(dataset, batch_size=batch_size))      # no workers

        def step():                                 # one training step, as in your loop
            inputs, labels = next(batches)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()

        return step

    record(build, batch_sizes=(2, 4), out="job")    # writes job-b2.json.gz and job-b4.json.gz

Two small batch sizes are enough to estimate any other. Then drop both files on the oomcast page, or run

    oomcast estimate job-b2.json.gz job-b4.json.gz --batch 64 --gpu "RTX 4090"

A training loop that cannot be cut into such functions is recorded where it stands: see `recording` in this file.
"""
import contextlib
import gc
import gzip
import json
import math
import os
import re
import tempfile
import warnings

import torch
from torch.profiler import ProfilerActivity, profile, record_function
try:
    from torch.optim.optimizer import register_optimizer_step_pre_hook
except ImportError:                     # some old torch: the files will not name the optimizer's arguments
    register_optimizer_step_pre_hook = None

__all__ = ["record", "recording"]


def record(build, batch_sizes=(2, 4), iterations=3, out="job", warmup=True, python_frames=False):
    """Profile `iterations` training steps at each batch size; returns the list of the files written, OUT-bN.json.gz.

    build(batch_size)  makes model, optimizer and data on the CPU and returns a function without arguments that runs one
                       training step. It is called inside the profile, once per batch size. What your loop keeps from one
                       iteration to the next (often the last loss and output) counts as memory: let the function keep it too.
    batch_sizes        one or more whole numbers from 1; two let oomcast estimate every other.
    iterations         three are enough for most jobs: memory settles in the second.
    out                beginning of the file names, with a folder that exists.
    warmup             run build and one step at the smallest batch size without a profile first. Otherwise whatever the job
                       imports on first use is traced, which can make the recording slow and take gigabytes.
    python_frames      True keeps every Python call in the files, for trace viewers; oomcast needs those of nn.Module only.

    Raises TypeError, ValueError or OSError with one sentence for a wrong argument, before anything is recorded, and
    RuntimeError if the data runs out. What your own code raises comes through, and nothing is written for that batch size.
    """
    if not callable(build):
        raise TypeError("build must be a function that takes a batch size, not %s" % _kind(build))
    sizes = list(batch_sizes) if isinstance(batch_sizes, (list, tuple, range)) else [batch_sizes]
    if not sizes or not all(_is_count(n) for n in sizes):
        raise ValueError("batch_sizes must be whole numbers from 1, but is %r" % (batch_sizes,))
    if len(set(sizes)) < len(sizes):
        raise ValueError("batch_sizes must differ from each other, but is %r" % (batch_sizes,))
    if not _is_count(iterations):
        raise ValueError("iterations must be a whole number from 1, but is %r" % (iterations,))
    paths = [_check_path("%s-b%d.json.gz" % (os.fspath(out), n)) for n in sizes]

    _warm_up_torch()
    if warmup:
        _run_step(_build_step(build, min(sizes)), 1, 1, min(sizes))
    for path, batch_size in zip(paths, sizes):
        with _recording(path, batch_size, python_frames) as marks:
            step = _build_step(build, batch_size)
            for i in range(iterations):
                marks.step()
                _run_step(step, i + 1, iterations, batch_size)
        del step                        # only now: what dies inside the profile would not count as alive to the end
        _print_file(path)
    _print_next(paths, 16 * max(sizes))
    return paths


@contextlib.contextmanager
def recording(path, batch_size=None, python_frames=False):
    """Profile a block of code into the file `path` (its name ends in .json.gz): for loops that do not fit `record`.

    with recording("job-b2.json.gz", batch_size=2) as rec:
        model = MyModel()                                           # build the model INSIDE: its memory must be seen
        optimizer = torch.optim.AdamW(model.parameters())
        for inputs, labels in rec.iterations(loader, 3):            # instead of: for inputs, labels in loader
            ...                                                     # the body of your loop

    Marking the iterations is optional but makes the result clearer: `rec.iterations(loader, count)` stops after `count`
    batches; where a loop has no loader, call `rec.step()` as the first thing in each iteration. Keep model and optimizer
    alive to the end of the block. Run the code once without a profile first if it imports much on first use.

    batch_size     samples per iteration, if you know it.
    python_frames  as in `record`.

    Raises ValueError or OSError with one sentence for a wrong path. If the block raises, nothing is written.
    """
    if batch_size is not None and not _is_count(batch_size):
        raise ValueError("batch_size must be a whole number from 1 or None, but is %r" % (batch_size,))
    path = _check_path(os.fspath(path))
    _warm_up_torch()
    with _recording(path, batch_size, python_frames) as marks:
        yield marks
    _print_file(path)
    _print_next([path], None)


class Marks:
    """Marks iterations in the running profile, as `ProfilerStep#0`, `#1`, ...; `recording` yields one."""

    def __init__(self):
        self.count = 0                  # iterations begun
        self._open = None

    def step(self):
        """An iteration begins here; the one before it ends."""
        self.close()
        self._open = record_function("ProfilerStep#%d" % self.count)
        self._open.__enter__()
        self.count += 1

    def iterations(self, batches, count=3):
        """Yield the first `count` items of `batches`, each fetched and used inside one marked iteration."""
        batches = iter(batches)
        for _ in range(count):
            self.step()
            try:
                yield next(batches)     # no variable here: it would keep the batch alive
            except StopIteration:
                raise RuntimeError("the data ran out after %d of %d iterations: give recording more batches"
                                   % (self.count - 1, count)) from None
        self.close()

    def close(self):
        """The current iteration ends, if there is one."""
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None


# ---- the profile ------------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _recording(path, batch_size, python_frames):
    """Profile the block, add what oomcast likes to know, write the file."""
    gc.collect()                        # nothing from before may die inside the profile
    older = {id(m): m for m in _live_modules()}
    optimizers, marks = {}, Marks()
    with _watch_optimizers(optimizers):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True,
                     with_modules=True) as prof:
            try:
                yield marks
            finally:
                marks.close()
            modules = [m for m in _live_modules() if id(m) not in older]
            facts = _describe(batch_size, marks.count, modules, list(optimizers.values()))
            prof.add_metadata_json("oomcast", json.dumps(facts))            # torch ignores it once the profile has stopped
    _write(prof, path, python_frames)
    del modules, optimizers, older, prof
    gc.collect()


def _build_step(build, batch_size):
    step = build(batch_size)
    if not callable(step) or isinstance(step, torch.nn.Module):
        raise TypeError("build(%d) must return a function that runs one training step, not %s"
                        % (batch_size, _kind(step)))
    return step


def _run_step(step, number, of, batch_size):
    try:
        step()
    except StopIteration:
        raise RuntimeError("the data ran out in step %d of %d at batch size %d: it takes %d samples, or a loader that starts again"
                           % (number, of, batch_size, of * batch_size)) from None


def _warm_up_torch():
    """Import what torch imports on first use (torch._dynamo by the first optimizer, for one), outside of the profile."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        model = torch.nn.Linear(1, 1, device="cpu")
        for make in (torch.optim.SGD, torch.optim.AdamW):
            optimizer = make(model.parameters(), lr=0.1)
            for batch in torch.utils.data.DataLoader([torch.ones(1, device="cpu")], generator=torch.Generator("cpu")):
                optimizer.zero_grad()
                with record_function("warm-up"):
                    model(batch).sum().backward()
                optimizer.step()


# ---- what oomcast likes to know ---------------------------------------------------------------------------------------------
def _describe(batch_size, iterations, modules, optimizers):
    """The facts as a dict of plain values; strings are such that torch's writer leaves them as they are (no backslash)."""
    parameters = {id(p): p for m in modules for p in m.parameters(recurse=False)}
    parameters.update((id(p), p) for o in optimizers for g in o.param_groups for p in g["params"])
    buffers = {id(b): b for m in modules for b in m.buffers(recurse=False)}
    lazy = torch.nn.parameter.is_lazy
    parameters = [p for p in parameters.values() if not lazy(p)]
    buffers = [b for b in buffers.values() if not lazy(b)]
    if not modules:
        warnings.warn("no nn.Module was built inside the recording: the memory of a model made before is not in the profile")
    elsewhere = {t.device.type for t in parameters + buffers} - {"cpu", "meta"}
    if torch.cuda.is_initialized() and torch.cuda.memory_allocated():
        elsewhere.add("cuda")
    if elsewhere:
        warnings.warn("tensors are on %s, where this profile does not see them: keep everything on the CPU while recording"
                      % " and ".join(sorted(elsewhere)))
    facts = {"version": 1, "torch": _plain(torch.__version__)}
    if batch_size is not None:
        facts["batch_size"] = batch_size
    if iterations:
        facts["iterations"] = iterations
    facts["parameter_bytes"] = sum(p.numel() * p.element_size() for p in parameters)
    facts["parameter_count"] = len(parameters)
    facts["buffer_bytes"] = sum(b.numel() * b.element_size() for b in buffers)
    if optimizers:
        facts["optimizer"] = _describe_optimizer(optimizers[0])
    if len(optimizers) > 1:
        facts["optimizer_count"] = len(optimizers)
    return facts


def _describe_optimizer(optimizer):
    """Class and plain arguments; the first parameter group wins over the defaults."""
    facts = {"class": _plain(type(optimizer).__name__)}
    for name, value in {**optimizer.defaults, **optimizer.param_groups[0]}.items():
        value = list(value) if isinstance(value, tuple) else value
        if all(_is_number(v) for v in (value if isinstance(value, list) else [value])) and name != "params":
            facts[_plain(name)] = value
    facts["param_groups"] = len(optimizer.param_groups)
    return facts


@contextlib.contextmanager
def _watch_optimizers(seen):
    """Collect every optimizer that steps, by torch's global hook; where torch lacks it, none."""
    def note(optimizer, args, kwargs):
        seen[id(optimizer)] = optimizer

    hook = register_optimizer_step_pre_hook(note) if register_optimizer_step_pre_hook else None
    try:
        yield
    finally:
        if hook:
            hook.remove()


def _live_modules():
    """Every nn.Module that exists. Calls no Python function per object: each would be an event of the profile."""
    return [o for o in gc.get_objects() if torch.nn.Module in type(o).__mro__]


# ---- the file ---------------------------------------------------------------------------------------------------------------
def _write(prof, path, python_frames):
    """Export and gzip, the same bytes for the same profile. The text is handled as bytes: torch writes invalid UTF-8 and
    invalid JSON into frame names at times, which also stops its own gzip step in some versions."""
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, os.path.basename(path)[:-len(".gz")])
        prof.export_chrome_trace(text)
        part = path + ".part"
        try:
            with open(text, "rb") as lines, open(part, "wb") as raw:
                with gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
                    for piece in _events(lines, python_frames):
                        file.write(piece)
            os.replace(part, path)
        finally:
            if os.path.exists(part):
                os.remove(part)


def _events(lines, python_frames):
    """The text of a profile in pieces, without the events of Python calls that are not calls of an nn.Module.

    torch writes one event between a line `  {` and a line `  },`; nothing else is assumed about its text."""
    event, written, inside = [], False, False
    for line in lines:
        bare = line.rstrip()
        if event:
            event.append(line)
            if bare in (b"  },", b"  }"):
                text = b"".join(event).rstrip(b",\r\n")
                event = []
                if python_frames or b'"cat": "python_function"' not in text or b'"name": "nn.Module: ' in text:
                    yield b",\n" + text if written else text
                    written = True
        elif inside and bare == b"  {":
            event = [line]
        elif inside and bare.startswith(b"  ]"):        # the end of the events
            inside = False
            yield b"\n" + _without_folder(line)
        elif bare or not inside:
            inside = inside or b'"traceEvents"' in line
            yield _without_folder(line)
    yield b"".join(event)


def _without_folder(line):
    """torch notes where it exported to: the name is right, the temporary folder is not."""
    return re.sub(rb'("traceName": ")[^"]*[/\\]', rb"\1", line)


def _check_path(path):
    folder = os.path.dirname(path) or "."
    if not path.endswith(".json.gz"):
        raise ValueError("the file name must end in .json.gz, but is %s" % path)
    if not os.path.isdir(folder):
        raise OSError("cannot write %s: there is no folder %s" % (path, folder))
    if not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise OSError("cannot write %s: no permission, or a folder of that name" % path)
    return path


def _print_file(path):
    print("%s  %d kB" % (path, math.ceil(os.path.getsize(path) / 1000)))


def _print_next(paths, batch_size):
    names = " ".join('"%s"' % p if " " in p else p for p in paths[:2])      # an estimate takes two; more serve to check it
    if len(paths) == 1:
        print("Next: drop it on the oomcast page (with one of another batch size, to estimate any), or run: oomcast estimate %s" % names)
    else:
        print('Next: drop them on the oomcast page, or run: oomcast estimate %s --batch %d --gpu "RTX 4090"' % (names, batch_size))


# ---- small things -----------------------------------------------------------------------------------------------------------
def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value):
    return value is None or isinstance(value, (bool, int)) or isinstance(value, float) and math.isfinite(value)


def _plain(text):
    return re.sub(r"[^\x20-\x7e]|[\"\\]", "?", str(text))


def _kind(value):
    return "None" if value is None else "an object of type " + type(value).__name__


if __name__ == "__main__":
    print(__doc__)
