"use strict";
// Walks through a run. Everything comes from the JSON block, and becomes text: nothing here makes HTML of a string.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const narrow = matchMedia("(max-width: 1000px)");
  const NAMES = ["seq", "at", "look", "start", "end", "text", "who", "tags", "mirror", "bracket", "inner", "kind", "facts"];
  const rows = data.rows.map((row) => Object.fromEntries(row.map((value, at) => [NAMES[at], value])));
  const facts = data.facts.map(([label, text, seq, tone, mark]) => ({ label, text, seq, tone, mark }));
  for (const violation of data.violations) {
    violation.steps = violation.steps.map((number) => facts[number]);
    violation.name = data.verdicts.find((verdict) => verdict.id === violation.invariant)?.name ?? "";
  }

  /** An element with classes, attributes and children; a child that is a string becomes text. */
  function make(name, classes, attributes, ...children) {
    const made = document.createElement(name);
    if (classes) made.className = classes;
    for (const [key, value] of Object.entries(attributes ?? {})) if (value !== false) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== "" && child !== null));
    return made;
  }
  const button = (classes, attributes, ...children) => make("button", classes, { type: "button", ...attributes }, ...children);
  const text = (words) => make("span", "text", {}, words);
  const jump = (seq, words) => button("jump", { "data-seq": seq }, words ?? `#${seq}`);

  /** Index of the last of `list` that is not after an event. */
  function upto(list, seq) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].seq <= seq) low = middle + 1; else high = middle;
    }
    return low - 1;
  }
  const rowOf = (seq) => { const row = rows[upto(rows, seq)]; return row && row.seq === seq ? row : null; };

  // ---------------------------------------------------------------- facts

  /** A text in which the number of its event leads there. */
  function linked(fact) {
    const [before, ...after] = fact.seq ? fact.text.split(`#${fact.seq}`) : [fact.text];
    if (!after.length) return [text(fact.text)];
    return [text(before), jump(fact.seq), text(after.join(`#${fact.seq}`))];
  }

  function listFacts(list, into) {
    into.replaceChildren(...list.flatMap((fact) => [
      make("dt", "", {}, fact.label),
      make("dd", fact.tone, {}, ...linked(fact), fact.mark && make("span", "mark", {}, fact.mark)),
    ]));
  }

  const lines = (label, texts, tone) => texts.map((line, at) => ({ label: at ? "" : label, text: line, tone, seq: 0, mark: "" }));

  // ---------------------------------------------------------------- what went wrong

  const state = { seq: 0, violation: -1, step: -1, every: false, pinned: 0 };
  const concerned = new Set(data.violations.flatMap((violation) => violation.steps.map((step) => step.seq)));
  for (const violation of data.violations) concerned.add(violation.at).add(violation.blamed);

  function drawViolations() {
    const items = data.violations.map((violation, number) => {
      const head = button("headline", { "aria-expanded": "false", "aria-controls": `violation-${number}` },
        make("b", "", {}, `✗ ${violation.invariant} ${violation.name}`), " ", make("span", "dim", {}, `#${violation.at}`), text(violation.summary));
      head.addEventListener("click", () => openViolation(number, violation.at));
      const sides = make("dl", "facts");
      listFacts([...lines("expected", violation.expected, "good"), ...lines("actual", violation.actual, "bad")], sides);
      const steps = make("ol", "steps", { "aria-label": "The steps that led to it" }, ...violation.steps.map((step, at) => drawStep(step, number, at)));
      return make("li", "", {}, head, make("div", "body", { id: `violation-${number}`, hidden: "" }, sides, steps));
    });
    items.push(...data.unmet.map((unmet) => {
      const sides = make("dl", "facts");
      listFacts([...lines("expected", unmet.expected, "good"), ...lines("actual", unmet.actual, "bad")], sides);
      const where = unmet.line ? `, line ${unmet.line}` : "";
      return make("li", "", {}, make("div", "body", {}, make("b", "bad", {}, `✗ Expectation of the scenario${where}`), make("p", "text", {}, unmet.summary), sides));
    }));
    byId("violations").replaceChildren(...items);
    byId("left").classList.toggle("sound", !items.length);
    if (!items.length) byId("violations").append(make("li", "body good", {}, "✓ Nothing: every promise that was at stake was kept."));
  }

  function drawStep(step, number, at) {
    // "3 #20 0.058 agent main starts a turn": number, event, time, words
    const parts = /^\d+ #\d+ (\S+) (.*)$/s.exec(step.text);
    const tone = step.mark === "✓" ? "ok" : step.tone;
    const mark = step.mark && step.mark !== "✓" ? make("span", "mark", {}, step.mark) : null;
    if (!parts) return make("li", tone, {}, make("p", step.tone, {}, text(step.text), mark));
    const made = button("", {}, text(parts[2]), " ", make("span", "at", {}, `#${step.seq} · ${parts[1]}`), mark);
    made.addEventListener("click", () => goToStep(number, at));
    return make("li", tone, {}, made);
  }

  function openViolation(number, seq) {
    if (state.violation === number && seq === state.seq && byId("violations").children[number].classList.contains("open")) return;
    state.violation = number;
    [...byId("violations").children].slice(0, data.violations.length).forEach((item, at) => {
      item.classList.toggle("open", at === number);
      item.firstChild.setAttribute("aria-expanded", String(at === number));
      item.lastChild.hidden = at !== number;
    });
    if (seq) select(seq);
  }

  function goToStep(number, at) {
    openViolation(number, 0);
    state.step = at;
    select(data.violations[number].steps[at].seq, { step: true });
    const item = byId("violations").children[number].querySelectorAll(".steps > li")[at];
    reveal(byId("wrong"), item);
  }

  /** The next or the previous step that leads to an event, over all violations. */
  function walkSteps(by) {
    const all = data.violations.flatMap((violation, number) => violation.steps.map((step, at) => ({ number, at, seq: step.seq })).filter(({ at: place, seq }) => seq && /^\d+ #/.test(violation.steps[place].text)));
    if (!all.length) return;
    let here = all.findIndex((step) => step.number === state.violation && step.at === state.step && step.seq === state.seq);
    if (here < 0) {
      const own = all.filter((step) => step.number === state.violation);
      const next = by > 0 ? own.find((step) => step.seq > state.seq) : own.findLast((step) => step.seq < state.seq);
      here = next ? all.indexOf(next) : (by > 0 ? all.indexOf(own.at(-1)) : all.indexOf(own[0])) + by;
    } else here += by;
    const found = all[Math.max(0, Math.min(here, all.length - 1))];
    goToStep(found.number, found.at);
  }

  function nextViolation() {
    if (!data.violations.length) return;
    const number = (state.violation + 1) % data.violations.length;
    openViolation(number, data.violations[number].at);
    reveal(byId("wrong"), byId("violations").children[number]);
  }

  // ---------------------------------------------------------------- timeline

  const scroll = byId("scroll"), list = byId("rows");
  const lanes = data.lanes.map((lane, at) => ({ ...lane, at })).filter((lane) => !lane.idle);
  const columns = new Map(lanes.map((lane, column) => [lane.at, column]));
  const gateway = lanes.findIndex((lane) => lane.kind === "gateway");
  let shown = [], height = 30, width = 64, drawn = [-1, -1];

  function fold() {
    shown = rows.filter((row) => state.every || !row.inner || concerned.has(row.seq) || row.seq === state.pinned);
    byId("count").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} events`;
    byId("every").setAttribute("aria-pressed", String(state.every));
    byId("space").style.height = `${shown.length * height}px`;
    drawMap();
    drawn = [-1, -1];
  }

  function layOut() {
    height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
    document.documentElement.style.setProperty("--head", `${document.querySelector(".head").offsetHeight}px`);
    const room = scroll.clientWidth * (narrow.matches ? 0.62 : 0.44) - 44;
    width = Math.floor(Math.min(76, room / lanes.length));
    const box = byId("lanes"), flat = width < 12;
    box.hidden = flat;
    scroll.classList.toggle("flat", flat);
    box.classList.toggle("narrow", width < 54);
    byId("timeline").style.setProperty("--lane", `${width}px`);
    byId("timeline").style.setProperty("--lanes", String(lanes.length));
    box.replaceChildren(...lanes.map((lane) => make("span", `of-${lane.kind}`, { title: lane.path },
      make("small", "", {}, lane.group || "\u00a0"), `${lane.child && width >= 54 ? "└▸" : ""}${lane.label}`)));
    fold();
    drawRows();
  }

  function drawRows() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / height) - 8);
    const last = Math.min(shown.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / height) + 8);
    if (first === drawn[0] && last === drawn[1]) return;
    const focused = document.activeElement?.closest?.("#rows li")?.dataset.seq;
    drawn = [first, last];
    list.style.transform = `translateY(${first * height}px)`;
    list.replaceChildren(...shown.slice(first, last).map((row, at) => drawRow(row, first + at)));
    markRows();
    if (focused) (list.querySelector(`[data-seq="${Number(focused)}"] button`) ?? scroll).focus({ preventScroll: true });
  }

  function drawRow(row, at) {
    const x = (lane) => ((columns.get(lane) ?? gateway) + 0.5) * width;
    const box = make("span", "drawn", { "aria-hidden": "true" });
    const rail = make("i", "rail");
    rail.style.left = `${(gateway + 0.5) * width}px`;
    const line = make("i", row.start === row.end ? "dot" : `arrow ${x(row.end) > x(row.start) ? "east" : "west"}`);
    line.style.left = `${Math.min(x(row.start), x(row.end))}px`;
    if (row.start !== row.end) line.style.width = `${Math.abs(x(row.end) - x(row.start))}px`;
    if (row.start !== row.end && data.stops[row.look]) {
      line.classList.add("stops");
      line.dataset.stop = data.stops[row.look];
    }
    box.append(rail, line);
    const from = data.lanes[row.start].path, to = data.lanes[row.end].path;
    const where = row.start === row.end ? from : `${from} → ${to}`;
    const words = make("span", "words", {}, row.who && make("b", "text", {}, row.who), row.who && " ", text(row.text));
    const chips = make("span", "chips", {}, ...`${row.tags} ${row.mirror}`.split(" ").filter(Boolean).map((tag) => make("span", "chip", {}, tag)));
    const made = button(`line ${row.look}`, { tabindex: "-1", title: `${where}: ${row.text}` },
      make("span", "seq", {}, `#${row.seq}`), make("span", "at", {}, row.at), make("span", "bracket", {}, row.bracket),
      box, make("span", "where text", {}, where), make("span", "says", {}, words, chips));
    made.addEventListener("click", () => select(row.seq, { chosen: true }));
    return make("li", "", { "data-seq": row.seq, "aria-posinset": at + 1, "aria-setsize": shown.length }, made);
  }

  function markRows() {
    const violation = data.violations[state.violation];
    const steps = new Set(violation ? violation.steps.map((step) => step.seq) : []);
    const current = shown[upto(shown, state.seq)];
    for (const item of list.children) {
      const seq = Number(item.dataset.seq);
      item.classList.toggle("step", steps.has(seq));
      item.classList.toggle("blamed", Boolean(violation) && violation.blamed === seq);
      item.classList.toggle("broken", data.violations.some((other) => other.at === seq));
      if (current && current.seq === seq) item.setAttribute("aria-current", "true"); else item.removeAttribute("aria-current");
    }
  }

  function drawMap() {
    const map = byId("map");
    map.style.top = `${scroll.offsetTop}px`;
    const places = new Map(data.violations.map((violation) => [upto(shown, violation.at), violation.at]));
    map.replaceChildren(...[...places].map(([at, seq]) => {
      const tick = make("i", "", { title: `#${seq}` });
      tick.style.top = `${(at / Math.max(shown.length, 1)) * 100}%`;
      tick.addEventListener("click", () => select(seq, { chosen: true }));
      return tick;
    }));
  }

  // ---------------------------------------------------------------- what people saw

  const bubbles = [];
  function drawPlaces() {
    byId("places").replaceChildren(...data.places.map((place) => make("section", place.concerned ? "place concerned" : "place", {},
      make("h3", "text", {}, place.name), make("ol", "", {}, ...place.bubbles.map(drawBubble)))));
    if (!data.places.length) byId("places").append(make("p", "empty", {}, "Nobody saw anything in this run."));
  }

  function drawBubble(bubble) {
    if (bubble.aside) return make("li", "aside", {}, bubble.seq ? jump(bubble.seq, bubble.at) : bubble.at, ` ${bubble.text}`);
    const kind = ["bubble", bubble.who ? "" : "bot", bubble.wrong || bubble.remark ? "wrong" : ""].join(" ");
    const inside = make("div", "", {},
      make("div", "meta", {}, text(bubble.who || "the gateway"), " · ", jump(bubble.seq, `${bubble.at}`)),
      make("div", "said text", { dir: "auto" }, bubble.text),
      bubble.remark && make("div", "remark", {}, bubble.remark));
    inside.addEventListener("click", () => { if (!String(getSelection())) select(bubble.seq, { chosen: true }); });
    const item = make("li", kind, {}, inside);
    bubbles.push({ seq: bubble.seq, item });
    return item;
  }

  // ---------------------------------------------------------------- the current event

  /** Scroll a pane, and nothing around it, until an element of it is in view. */
  function reveal(pane, element) {
    if (!element || narrow.matches) return;
    const [outer, inner] = [pane.getBoundingClientRect(), element.getBoundingClientRect()];
    if (inner.top < outer.top + 40) pane.scrollTop += inner.top - outer.top - 40;
    else if (inner.bottom > outer.bottom - 10) pane.scrollTop += inner.bottom - outer.bottom + 10;
  }

  function select(seq, { chosen = false, step = false } = {}) {
    const row = rowOf(seq);
    state.seq = seq;
    if (!step) state.step = data.violations[state.violation]?.steps.findIndex((known) => known.seq === seq) ?? -1;
    if (row && shown[upto(shown, seq)]?.seq !== seq) { state.pinned = seq; fold(); }
    const top = upto(shown, seq) * height;
    if (top < scroll.scrollTop + height) scroll.scrollTop = top - scroll.clientHeight / 3;
    else if (top > scroll.scrollTop + scroll.clientHeight - 2 * height) scroll.scrollTop = top - (scroll.clientHeight * 2) / 3;
    drawRows();
    markRows();
    byId("event-title").textContent = row ? `#${seq} ${row.kind} · ${row.at}` : `#${seq}`;
    listFacts(row ? row.facts.map((number) => facts[number]) : lines("", ["This event was left out of the page."], "dim"), byId("facts"));
    byId("event").scrollTop = 0;
    for (const { seq: other, item } of bubbles) {
      item.classList.toggle("later", other > seq);
      if (other === seq) { item.setAttribute("aria-current", "true"); reveal(byId("saw"), item); } else item.removeAttribute("aria-current");
    }
    byId("violations").querySelectorAll(".steps").forEach((steps, number) => [...steps.children].forEach((item, at) => {
      const here = number === state.violation && at === state.step;
      if (here) item.firstChild.setAttribute("aria-current", "step"); else item.firstChild.removeAttribute("aria-current");
    }));
    if (chosen) document.body.classList.add("chosen");
    clearTimeout(state.timer);
    state.timer = setTimeout(() => history.replaceState(null, "", `#${seq}`), 300);
  }

  function walk(by) {
    if (!shown.length) return;
    const at = upto(shown, state.seq);
    select(shown[Math.max(0, Math.min(at + by, shown.length - 1))].seq, { chosen: true });
  }

  // ---------------------------------------------------------------- keys

  const help = byId("help");
  const page = () => Math.max(1, Math.floor(scroll.clientHeight / height) - 1);
  const KEYS = {
    j: () => walk(1), k: () => walk(-1), ArrowDown: () => walk(1), ArrowUp: () => walk(-1),
    PageDown: () => walk(page()), PageUp: () => walk(-page()), Home: () => walk(-rows.length), End: () => walk(rows.length),
    n: () => walkSteps(1), p: () => walkSteps(-1), "!": nextViolation, m: toggleEvery, "?": () => help.showModal(),
  };

  function toggleEvery() {
    state.every = !state.every;
    fold();
    drawRows();
    select(state.seq, { step: true });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || !Object.hasOwn(KEYS, event.key)) return;
    // A pane that scrolls keeps the keys that scroll it.
    if (event.key.length > 1 && (narrow.matches || event.target.closest("[data-scrolls], .about"))) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-seq].jump");
    if (link) { event.stopPropagation(); select(Number(link.dataset.seq), { chosen: true }); }
  }, true);
  byId("keys").addEventListener("click", () => help.showModal());
  byId("every").addEventListener("click", toggleEvery);
  byId("close").addEventListener("click", () => document.body.classList.remove("chosen"));
  byId("repro").lastElementChild.addEventListener("click", async (event) => {
    getSelection().selectAllChildren(byId("repro").firstElementChild);
    const copied = await navigator.clipboard?.writeText(data.repro).then(() => true, () => false);
    event.target.textContent = copied ? "Copied" : "Selected";
  });

  // ---------------------------------------------------------------- begin

  function drawVerdicts() {
    const signs = { violated: ["✗", "bad"], ok: ["✓", "good"], "not exercised": ["–", "dim"] };
    const draw = (verdict) => {
      const [sign, tone] = signs[verdict.status];
      const times = verdict.times ? `${verdict.times}×` : "";
      return make("details", "promise", {}, make("summary", "", {}, make("span", tone, {}, `${sign} ${verdict.id}`), ` ${verdict.name} `, make("span", "dim", {}, times)),
        make("p", "text", {}, verdict.sentence), ...verdict.notes.map((note) => make("p", "text warn", {}, note)));
    };
    const idle = data.verdicts.filter((verdict) => verdict.status === "not exercised");
    byId("verdicts").replaceChildren(...data.verdicts.filter((verdict) => !idle.includes(verdict)).map(draw));
    if (idle.length) byId("verdicts").append(make("details", "promise", {}, make("summary", "dim", {}, `${idle.length} had nothing to judge`), ...idle.map(draw)));
    const kept = data.verdicts.filter((verdict) => verdict.status === "ok").length;
    const broken = data.verdicts.length - kept - idle.length;
    byId("promises-title").textContent = `Promises: ${broken ? `${broken} broken, ` : ""}${kept} kept`;
  }

  byId("verdict").textContent = `${data.tone === "bad" ? "✗" : "✓"} ${data.verdict}`;
  byId("verdict").classList.add(data.tone);
  byId("scenario").textContent = data.scenario;
  byId("title").textContent = data.title;
  listFacts(data.run.map((number) => facts[number]), byId("run"));
  byId("repro").hidden = !data.repro;
  byId("repro").firstElementChild.textContent = data.repro;
  byId("left-out").hidden = !data.left_out.length;
  byId("left-out").textContent = data.left_out.join(" ");
  for (const pane of ["wrong", "promises", "event", "saw"]) {
    byId(pane).dataset.scrolls = "";
    byId(pane).tabIndex = 0;
  }
  document.documentElement.classList.add("walks");
  drawViolations();
  drawVerdicts();
  drawPlaces();
  layOut();
  scroll.addEventListener("scroll", drawRows, { passive: true });
  new ResizeObserver(layOut).observe(byId("timeline"));
  const wanted = Number(/^#(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const first = data.violations[0];
  if (first) openViolation(0, wanted || first.at); else if (rows.length) select(wanted || shown.at(-1).seq);
  addEventListener("hashchange", () => { const seq = Number(location.hash.slice(1)); if (rowOf(seq)) select(seq, { chosen: true }); });
})();
