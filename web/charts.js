// The only file that calls Plotly; loads it from our own folder when first needed. Draws a model of the memory curve and tells what a
// person does with it (hover, zoom, double click). Decides nothing about memory: times, bytes and texts come ready.

/** @typedef {{curves: import("./state.js").Curves, fromMs: number, toMs: number, unitBytes: number, unitName: string, topBytes: number, bottomBytes: number,
 *   limit: {bytes: number, text: string} | null, marks: {timeMs: number, bytes: number, text: string, kind: "peak" | "oom"}[],
 *   bands: {fromMs: number, toMs: number, kind: "backward" | "step"}[], iterations: {timeMs: number, text: string}[],
 *   isShown: Record<string, boolean>, isNarrow: boolean}} ChartModel */

let loading = null;

/** Starts loading Plotly. @returns {Promise<any>} the library; rejected if it cannot be had */
export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("./vendor/plotly-basic.min.js", import.meta.url).href;
    script.onload = () => (globalThis.Plotly ? resolve(globalThis.Plotly) : reject(new Error("Plotly did not load")));
    script.onerror = () => {
      loading = null;
      script.remove();
      reject(new Error("vendor/plotly-basic.min.js did not load"));
    };
    document.head.append(script);
  });
  return loading;
}

/** Whether dragging over a chart zooms; where a finger scrolls the page it must not. @param {boolean} isNarrow */
export function canDrag(isNarrow) {
  return !isNarrow && !matchMedia("(pointer: coarse)").matches;
}

// No tool bar: the page has buttons of its own, and Plotly's would offer to upload the chart if these two were not off.
const CONFIG = { displayModeBar: false, displaylogo: false, showTips: false, responsive: true, doubleClick: false, scrollZoom: false, showSendToCloud: false, plotlyServerURL: "" };

/** @param {HTMLElement} element @param {{onHover: (timeMs: number | null, event?: MouseEvent) => void, onZoom: (fromMs: number, toMs: number) => void,
 *   onReset: () => void}} actions */
export function createChart(element, actions) {
  let isBound = false;
  const colours = new Map();
  /** A CSS variable as a colour that Plotly understands. */
  const paint = (name) => {
    if (!colours.has(name)) {
      const probe = document.createElement("span");
      probe.style.color = `var(--${name})`;
      element.parentElement.append(probe);
      colours.set(name, getComputedStyle(probe).color);
      probe.remove();
    }
    return colours.get(name);
  };
  const bind = () => {
    isBound = true;
    element.on("plotly_hover", ({ xvals, event }) => actions.onHover(Number(xvals[0]), event));
    element.on("plotly_unhover", () => actions.onHover(null));
    element.on("plotly_doubleclick", actions.onReset);
    element.on("plotly_relayout", (change) => {
      const from = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
      const to = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
      if (from !== undefined && to !== undefined) actions.onZoom(Number(from), Number(to));
    });
  };
  return {
    /** @param {ChartModel} model */
    async draw(model) {
      const Plotly = await loadPlotly();
      await Plotly.react(element, tracesOf(model, paint), layoutOf(model, paint), CONFIG);
      if (!isBound) bind();
    },
    /** The theme has changed. */
    forgetColours: () => colours.clear(),
    /** The chart as a picture of 2400 x 960 pixels. @returns {Promise<string>} a data URL */
    async picture() {
      const Plotly = await loadPlotly();
      const layout = { ...element.layout, paper_bgcolor: paint("card"), width: 1200, height: 480 };
      return Plotly.toImage({ data: element.data, layout, config: CONFIG }, { format: "png", width: 1200, height: 480, scale: 2 });
    },
  };
}

function tracesOf(model, paint) {
  const scale = (curve) => Array.from(curve.bytes, (bytes) => bytes / model.unitBytes);
  const line = (name, key, style, rest = {}) => ({
    name, type: "scatter", mode: "lines", x: Array.from(model.curves[key].timeMs), y: scale(model.curves[key]), hoverinfo: "none", showlegend: false,
    visible: model.isShown[key] !== false, line: { shape: "hv", simplify: false, ...style }, ...rest,
  });
  const traces = [
    line("allocated", "allocated", { color: paint("line-allocated"), width: 1.6 }, { fill: "tozeroy", fillcolor: paint("fill-allocated") }),
    line("tensor", "tensor", { color: paint("line-tensor"), width: 1.2, dash: "dot" }),
    line("reserved", "reserved", { color: paint("line-reserved"), width: 1.8 }),
    line("need", "need", { color: paint("line-need"), width: 1.6, dash: "dash" }),
  ];
  for (const mark of model.marks) {
    const isPeak = mark.kind === "peak";
    traces.push({
      name: mark.kind, type: "scatter", mode: "markers", x: [mark.timeMs], y: [mark.bytes / model.unitBytes], hoverinfo: "none", showlegend: false,
      cliponaxis: false, marker: isPeak
        ? { size: 10, color: paint("line-allocated"), line: { width: 2, color: paint("card") } }
        : { size: 13, symbol: "x", color: paint("no"), line: { width: 2, color: paint("card") } },
    });
  }
  return traces;
}

function layoutOf(model, paint) {
  const font = { family: "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif", size: 12, color: paint("dim") };
  const axis = { gridcolor: paint("line"), linecolor: paint("line"), zeroline: false, ticks: "", automargin: true };
  const shapes = model.bands.map(({ fromMs, toMs, kind }) => ({
    type: "rect", xref: "x", yref: "paper", x0: fromMs, x1: toMs, y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: paint(`band-${kind}`),
  }));
  for (const { timeMs } of model.iterations)
    shapes.push({ type: "line", xref: "x", yref: "paper", x0: timeMs, x1: timeMs, y0: 0, y1: 1.06, layer: "below", line: { width: 1, color: paint("line-strong") } });
  const span = model.toMs - model.fromMs;
  const annotations = model.iterations.map(({ timeMs, text }) => ({
    x: timeMs, xref: "x", y: 1, yref: "paper", xanchor: "left", yanchor: "bottom", xshift: 4, text, showarrow: false, font: { ...font, size: 11.5 },
  }));
  const label = (x, y, text, color, rest) => ({ x, y, xref: "x", yref: "y", text: escape(text), showarrow: false, font: { ...font, color }, bgcolor: paint("veil"), borderpad: 2, ...rest });
  if (model.limit && model.isShown.limit) {
    const y = model.limit.bytes / model.unitBytes;
    shapes.push({ type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: y, y1: y, line: { width: 1.6, dash: "dash", color: paint("no") } });
    const isRight = model.marks.some((mark) => mark.timeMs - model.fromMs < span / 2); // where the marks' own texts are not
    annotations.push(label(isRight ? 1 : 0, y, model.limit.text, paint("no"),
      { xref: "paper", xanchor: isRight ? "right" : "left", yanchor: "bottom", xshift: isRight ? -4 : 4, yshift: 1, bgcolor: "rgba(0,0,0,0)" }));
  }
  for (const mark of model.marks) {
    const isLeft = mark.timeMs - model.fromMs > span * (model.isNarrow ? 0.5 : 0.62);
    if (mark.timeMs < model.fromMs || mark.timeMs > model.toMs) continue;
    if (mark.text) annotations.push(label(mark.timeMs, mark.bytes / model.unitBytes, mark.text, paint(mark.kind === "peak" ? "ink" : "no"),
      { xanchor: isLeft ? "right" : "left", xshift: isLeft ? -10 : 10, yanchor: mark.kind === "peak" ? "middle" : "top", yshift: mark.kind === "peak" ? 0 : -6 }));
  }
  return {
    font, shapes, annotations, margin: { l: 48, r: 14, t: 30, b: 42 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "x",
    hoverdistance: -1, spikedistance: -1, dragmode: canDrag(model.isNarrow) ? "zoom" : false,
    xaxis: {
      ...axis, range: [model.fromMs, model.toMs], showgrid: false, title: { text: "time in the recording, ms", font, standoff: 8 }, nticks: model.isNarrow ? 5 : 10,
      showspikes: true, spikemode: "across", spikesnap: "cursor", spikethickness: 1, spikedash: "solid", spikecolor: paint("dim"),
    },
    yaxis: { ...axis, range: [model.bottomBytes / model.unitBytes, model.topBytes / model.unitBytes], fixedrange: true, ticksuffix: ` ${model.unitName}`, nticks: 7 },
  };
}

/** Plotly reads a small HTML in its texts; a profile's names must stay text. */
function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
