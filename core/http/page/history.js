// What this browser remembers of a conversation: its messages, and the cursor of the last one from the gateway.
// All tabs of one person share it. Nothing is lost without it: the gateway sends what it still has again.

const MOST_MESSAGES = 400;
// Storage holds about 5 MB; half of it is left to other conversations.
const MOST_CHARACTERS = 1_500_000;

/** A person, with an id that is made once. */
export function person() {
  const known = read("trunkline.person");
  if (known && typeof known.id === "string" && known.id) return { id: known.id, name: String(known.name ?? "") };
  const made = { id: `web-${newId()}`, name: "" };
  write("trunkline.person", made);
  return made;
}

export function rememberPerson(who) {
  write("trunkline.person", who);
}

/** Delete all that this browser remembers: conversations, person and account. */
export function forgetAll() {
  try {
    for (const place of Object.keys(localStorage)) if (place.startsWith("trunkline.")) localStorage.removeItem(place);
  } catch {
    // A browser that allows no storage has nothing to forget.
  }
}

/** An id that nobody else makes. `crypto.randomUUID` is missing on pages without TLS. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (one) => one.toString(16).padStart(2, "0")).join("");
}

/** The messages of one conversation, in order, by key. */
export class History {
  constructor(channel, account, id) {
    this.place = `trunkline.chat/${channel}/${account}/${id}`;
    this.clear();
  }

  clear() {
    this.cursor = 0;
    this.byKey = new Map();
  }

  /** Take in what is stored; the messages that are new here, or known to be stored now. */
  load() {
    const stored = read(this.place);
    if (!stored || !Array.isArray(stored.messages)) return [];
    const taken = [];
    for (const one of stored.messages) {
      if (typeof one?.key !== "string" || typeof one.text !== "string") continue;
      const known = this.byKey.get(one.key);
      // What this tab knows is newer, unless another tab has learnt that the gateway stored it.
      if (known && !(one.state === "stored" && known.state !== "stored")) continue;
      this.byKey.set(one.key, one);
      taken.push(one);
    }
    if (Number.isSafeInteger(stored.cursor)) this.cursor = Math.max(this.cursor, stored.cursor);
    return taken;
  }

  /** Store it, with what another tab has stored since; returns what `load` does. */
  save() {
    const taken = this.load();
    let kept = this.messages().slice(-MOST_MESSAGES);
    let size = 0;
    let from = kept.length;
    while (from > 0 && size + kept[from - 1].text.length <= MOST_CHARACTERS) size += kept[--from].text.length;
    kept = kept.slice(from);
    while (!write(this.place, { cursor: this.cursor, messages: kept }) && kept.length) kept = kept.slice(Math.ceil(kept.length / 2));
    return taken;
  }

  forget() {
    this.clear();
    write(this.place, null);
  }

  /** A message of the gateway; null if it is there already. */
  receive(frame) {
    const key = `m${frame.cursor}`;
    this.cursor = Math.max(this.cursor, frame.cursor);
    if (this.byKey.has(key)) return null;
    const { text, at, media, poll, parts } = frame;
    const made = { key, after: frame.cursor, mine: false, text, at, media, poll, parts };
    this.byKey.set(key, made);
    return made;
  }

  /** A message of the person, from here or from another tab. */
  add(id, text, at, state) {
    const known = this.get(id);
    if (known) return known;
    // It stands behind all that had come when it was written.
    const key = `own-${id}`;
    const made = { key, id, after: this.cursor, mine: true, text, at, state };
    this.byKey.set(key, made);
    return made;
  }

  /** A message of the person, by its id. */
  get(id) {
    return this.byKey.get(`own-${id}`);
  }

  messages() {
    return [...this.byKey.values()].sort((a, b) => a.after - b.after || Number(a.mine) - Number(b.mine) || a.at - b.at);
  }

  /** What is not known to be stored yet, oldest first. */
  unsent() {
    return this.messages().filter((one) => one.mine && one.state === "sending");
  }
}

function read(place) {
  try {
    return JSON.parse(localStorage.getItem(place));
  } catch {
    return null;
  }
}

function write(place, value) {
  try {
    if (value === null) localStorage.removeItem(place);
    else localStorage.setItem(place, JSON.stringify(value));
    return true;
  } catch {
    // Storage is full, or the browser allows none.
    return false;
  }
}
