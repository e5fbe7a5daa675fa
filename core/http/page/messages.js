// The entries of the list of messages.

import { link, render } from "/chat/markdown.js";

const DELIVERY = { sending: "Sending…", stored: "Stored", failed: "Not sent" };
// Seconds within which messages of one side stand together.
const TOGETHER = 120;

export function dayOf(at) {
  return new Date(at * 1000).toDateString();
}

export function dayLine(at) {
  const line = document.createElement("li");
  line.className = "day";
  line.textContent = new Date(at * 1000).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });
  return line;
}

/** A message as an entry of the list, behind the entry `last`. `on` has `press` and `retry`. */
export function row(one, last, on) {
  const shown = document.createElement("li");
  shown.id = `message-${one.key}`;
  shown.className = one.mine ? "message mine" : "message";
  shown.dataset.day = dayOf(one.at);
  shown.dataset.at = one.at;
  if (last?.classList.contains("mine") === one.mine && last.dataset.at && one.at - last.dataset.at < TOGETHER) shown.classList.add("follows");
  const who = document.createElement("span");
  who.className = "unseen";
  who.textContent = one.mine ? "You:" : "Agent:";
  const bubble = document.createElement("div");
  bubble.className = "bubble";
  bubble.dir = "auto";
  bubble.append(render(one.text));
  bubble.append(...attachments(one, on.press));
  const meta = document.createElement("p");
  meta.className = "meta";
  shown.append(who, bubble, meta);
  showDelivery(shown, one, on.retry);
  return shown;
}

function attachments(one, press) {
  const found = [];
  if (Array.isArray(one.media) && one.media.length) found.push(list("media", one.media.map((address) => link(String(address)) ?? String(address))));
  if (one.poll) {
    const question = document.createElement("p");
    question.className = "heading";
    question.textContent = one.poll.question;
    found.push(question, list("options", one.poll.options));
  }
  for (const buttons of one.parts?.buttons ?? []) found.push(buttonRow(one, buttons, press));
  return found;
}

function list(name, entries) {
  const made = document.createElement("ul");
  made.className = name;
  for (const one of entries) {
    const entry = document.createElement("li");
    entry.append(one);
    made.append(entry);
  }
  return made;
}

function buttonRow(one, buttons, press) {
  const made = document.createElement("div");
  made.className = "buttons";
  for (const { text, value, url } of buttons) {
    const opens = url ? link(url, text) : null;
    if (opens) opens.className = "quiet";
    made.append(opens ?? pressable(one, text, value, press));
  }
  return made;
}

function pressable(one, text, value, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "quiet";
  made.textContent = text;
  made.disabled = !value;
  made.addEventListener("click", () => press(value, one.after));
  return made;
}

/** Show when a message was said and, of the person's own, whether it is stored. */
export function showDelivery(shown, one, retry) {
  const meta = shown.querySelector(".meta");
  const time = document.createElement("time");
  const at = new Date(one.at * 1000);
  time.dateTime = at.toISOString();
  time.title = at.toLocaleString();
  time.textContent = at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  meta.replaceChildren(time);
  shown.classList.toggle("failed", one.state === "failed");
  if (!one.mine) return;
  const state = document.createElement("span");
  state.className = "delivery";
  state.textContent = one.state === "failed" && one.why ? `${DELIVERY.failed}: ${one.why}` : DELIVERY[one.state];
  meta.append(state);
  if (one.state !== "failed") return;
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => retry(one.id));
  meta.append(again);
}
