// The web chat: signs in, shows the conversation, and sends what the person writes.

import { Connection } from "/chat/connection.js";
import { forgetAll, History, newId, person, rememberPerson } from "/chat/history.js";
import { dayLine, dayOf, row, showDelivery } from "/chat/messages.js";

const $ = (id) => document.getElementById(id);
const TOKEN = "trunkline.token";
const ACCOUNT = "trunkline.account";
const STATES = {
  connecting: "Connecting…",
  connected: "Connected",
  waiting: "Reconnecting…",
  offline: "Offline",
};
// What is said, and the field that has to change.
const REFUSALS = {
  4401: ["The gateway does not know this token.", "token"],
  4404: ["The gateway has no mailbox account of this name.", "account"],
};
// The list keeps this many messages; older ones are in the history.
const MOST_SHOWN = 400;

let token = "";
let connection = null;
let history = null;
// What the gateway reads in one frame, in bytes.
let maxFrame = Infinity;
let unread = 0;

// ---------------------------------------------------------------- entry

function start() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.get("token")) {
    put(sessionStorage, TOKEN, fragment.get("token"));
    // Neither the history of the browser nor a shared screen keeps the token.
    window.history.replaceState(null, "", location.pathname + location.search);
  }
  token = get(sessionStorage, TOKEN) ?? "";
  if (token) enter();
  else showEntry();
}

/** `wrong`: the field that the problem is about. */
function showEntry(problem = "", wrong = "token") {
  const me = person();
  $("chat").hidden = true;
  $("entry").hidden = false;
  $("entry-problem").hidden = !problem;
  $("entry-problem").textContent = problem;
  $("name").value = me.name;
  $("person").value = me.id;
  $("account").value = get(localStorage, ACCOUNT) ?? "";
  $("token").value = wrong === "token" ? "" : token;
  for (const field of ["token", "person", "account"]) $(field).setAttribute("aria-invalid", String(Boolean(problem) && field === wrong));
  if (wrong !== "token") $("more").open = true;
  $(wrong).focus();
  document.title = "Trunkline chat";
}

$("entry-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  if (!token) return;
  put(sessionStorage, TOKEN, token);
  put(localStorage, ACCOUNT, $("account").value.trim());
  rememberPerson({ id: $("person").value.trim() || person().id, name: $("name").value.trim() });
  enter();
});

$("leave").addEventListener("click", () => {
  keep();
  connection?.stop();
  connection = null;
  sessionStorage.removeItem(TOKEN);
  showEntry();
});

$("forget").addEventListener("click", () => {
  forgetAll();
  showEntry();
  $("forgotten").hidden = false;
});

function enter() {
  const me = person();
  const [channel, account] = accountOf(get(localStorage, ACCOUNT));
  history = new History(channel, account, me.id);
  history.load();
  $("entry").hidden = true;
  $("forgotten").hidden = true;
  $("chat").hidden = false;
  $("my-name").textContent = me.name || "Guest";
  $("my-account").textContent = `${channel}:${account}`;
  showFailed(false);
  showAll();
  toEnd();
  $("text").focus();
  connection = new Connection(
    () => ({ type: "hello", token, channel, account, peer: { id: me.id, name: me.name || "Guest" }, after: history.cursor }),
    { frame: take, state: showState, refused },
  );
}

function accountOf(text) {
  const [channel, account] = (text || "").split(":");
  return [channel || "webchat", account || "default"];
}

function refused(code, problem) {
  connection = null;
  sessionStorage.removeItem(TOKEN);
  // A token without the scope, or one that is bound to somebody else: the gateway says which, and what helps.
  const field = problem?.type.endsWith(":bound-token") || code === 4400 ? "person" : "token";
  const [said, wrong] = REFUSALS[code] ?? [problem?.detail ?? "The gateway refused the connection.", field];
  showEntry(said, wrong);
}

// ---------------------------------------------------------------- frames

function take(frame) {
  const what = TAKE[frame.type];
  if (what) what(frame);
}

const TAKE = {
  ready(frame) {
    maxFrame = frame.max_frame;
    if (frame.after < history.cursor) forgetOld();
    $("gap").hidden = !(frame.after && frame.after < frame.pruned);
    history.unsent().forEach(submit);
  },
  said(frame) {
    const dropped = frame.status === "dropped";
    settle(frame.id, dropped ? "failed" : "stored", dropped ? frame.detail || frame.reason : undefined);
  },
  own(frame) {
    const known = history.get(frame.id);
    if (known) settle(frame.id, "stored");
    else arrive([history.add(frame.id, frame.text, frame.at, "stored")]);
    keep();
  },
  message(frame) {
    showTyping(false);
    showFailed(false);
    const made = history.receive(frame);
    if (made) arrive([made]);
    keepSoon();
  },
  caught_up() {
    showEmpty();
  },
  typing(frame) {
    if (frame.on) showFailed(false);
    showTyping(frame.on);
  },
  failed(frame) {
    showFailed(true, frame.reason);
  },
  problem(frame) {
    if (frame.id) settle(frame.id, "failed", frame.problem.detail);
  },
};

// The gateway has another store than before: its cursors mean other messages.
function forgetOld() {
  history.forget();
  showAll();
  toEnd();
}

// A save also reads what another tab has stored since, often before the `storage` event of it.
function keep() {
  showTaken(history.save());
}

let saving = null;

function keepSoon() {
  // Hundreds of messages that come at once are written once.
  saving ??= setTimeout(() => {
    saving = null;
    keep();
  }, 50);
}

addEventListener("pagehide", () => connection && keep());
addEventListener("storage", (event) => {
  if (event.key === history?.place && event.newValue !== null) showTaken(history.load());
});

function showTaken(taken) {
  for (const one of taken) {
    const shown = rowOf(one);
    if (shown) showDelivery(shown, one, retry);
  }
  arrive(taken);
}

// ---------------------------------------------------------------- saying

/** `pressed`: cursor of the message whose button says this. */
function say(text, pressed) {
  const one = history.add(newId(), text, Date.now() / 1000, "sending");
  one.pressed = pressed;
  arrive([one]);
  keep();
  toEnd();
  submit(one);
}

function submit(one) {
  const { id, text, pressed } = one;
  const frame = pressed ? { type: "say", id, text, pressed } : { type: "say", id, text };
  // The gateway would close the connection, and all that is said later would wait behind this one.
  if (sizeOf(frame) > maxFrame) settle(id, "failed", `it is too long: the gateway takes ${Math.floor(maxFrame / 1024)} KB at once`);
  else connection?.send(frame);
}

function sizeOf(frame) {
  return new TextEncoder().encode(JSON.stringify(frame)).length;
}

// The same id again: if the gateway has stored it after all, it is not said twice.
function retry(id) {
  settle(id, "sending");
  submit(history.get(id));
}

function settle(id, state, why) {
  const one = history.get(id);
  if (!one) return;
  one.state = state;
  one.why = why;
  keep();
  const shown = rowOf(one);
  // Another tab may have learnt meanwhile that it is stored.
  if (shown) showDelivery(shown, history.get(id), retry);
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (!text.trim()) return;
  $("text").value = "";
  fit();
  say(text);
  $("text").focus();
});

$("text").addEventListener("keydown", (event) => {
  // While an input method composes, Enter chooses a word.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("composer").requestSubmit();
});
$("text").addEventListener("input", fit);

function fit() {
  const box = $("text");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

// ---------------------------------------------------------------- showing

function showAll() {
  $("messages").replaceChildren();
  for (const one of history.messages().slice(-MOST_SHOWN)) append(one);
  showEmpty();
}

/** Show messages of the history that are not shown yet. */
function arrive(made) {
  const fresh = made.filter((one) => !rowOf(one));
  if (!fresh.length) return;
  const follow = atEnd();
  const last = history.messages().slice(-fresh.length);
  if (last.every((one) => fresh.includes(one))) last.forEach(append);
  else showAll();
  while ($("messages").children.length > MOST_SHOWN) $("messages").firstElementChild.remove();
  showEmpty();
  if (follow) toEnd();
  const answers = fresh.filter((one) => !one.mine).length;
  if (!follow && answers) $("newest").hidden = false;
  if (document.hidden && answers) countUnread(unread + answers);
}

function rowOf(one) {
  return document.getElementById(`message-${one.key}`);
}

function append(one) {
  const list = $("messages");
  const last = list.lastElementChild;
  if (last?.dataset.day !== dayOf(one.at)) list.append(dayLine(one.at));
  list.append(row(one, last, { press: say, retry }));
}

function showState(state) {
  $("state").dataset.state = state;
  $("state").textContent = STATES[state];
  if (state !== "connected") showTyping(false);
}

function showTyping(on) {
  const follow = atEnd();
  $("typing").hidden = !on;
  if (follow) toEnd();
}

function showFailed(on, reason) {
  const follow = atEnd();
  $("failed").hidden = !on;
  $("failed").textContent = on ? `The agent could not answer${reason ? ` (${reason})` : ""}. The log of the gateway says more.` : "";
  if (follow) toEnd();
}

function showEmpty() {
  $("empty").hidden = $("messages").children.length > 0;
}

function atEnd() {
  const box = $("scroll");
  return box.scrollHeight - box.scrollTop - box.clientHeight < 60;
}

function toEnd() {
  const box = $("scroll");
  box.scrollTop = box.scrollHeight;
}

$("newest").addEventListener("click", toEnd);
$("scroll").addEventListener("scroll", () => {
  if (atEnd()) $("newest").hidden = true;
});
document.addEventListener("visibilitychange", () => !document.hidden && countUnread(0));

function countUnread(count) {
  unread = count;
  document.title = count ? `(${count}) Trunkline chat` : "Trunkline chat";
}

// ---------------------------------------------------------------- storage that a browser may forbid

function get(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

function put(storage, key, value) {
  try {
    storage.setItem(key, value);
  } catch {
    // Then it lasts as long as the page.
  }
}

start();
