// Markdown as elements, small and strict. Text becomes text nodes only: nothing that a stranger writes is read as HTML.

const OPENABLE = /^(https?:|mailto:)/i;
// Longest text and address of a link; what is longer stays text.
const LONGEST_LINK = 2000;
const DEEPEST = 6;
// Elements of one text; what comes behind them is shown as it was written.
const MOST_ELEMENTS = 4000;
let left = MOST_ELEMENTS;

/** The elements of a text. */
export function render(text) {
  left = MOST_ELEMENTS;
  const found = document.createDocumentFragment();
  blocks(text.replace(/\r\n?/g, "\n").split("\n"), found, 0);
  return found;
}

/** A link that opens in a tab of its own; null if the address is none that may be opened. */
export function link(address, shown) {
  if (!OPENABLE.test(address) || address.length > LONGEST_LINK) return null;
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  const made = element("a", shown ?? address);
  made.href = url.href;
  made.title = url.href;
  made.target = "_blank";
  made.rel = "noopener noreferrer nofollow";
  return made;
}

function element(name, text) {
  left -= 1;
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Blocks: a table of the ways in which one may begin. Each takes lines from a place, and says where it ended.

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const BULLET = /^ {0,3}[-*+] +/;
const NUMBER = /^ {0,3}(\d{1,9})[.)] +/;

function begins(line) {
  return [FENCE, HEADING, RULE, QUOTE, BULLET, NUMBER].some((form) => form.test(line));
}

function blocks(lines, into, depth) {
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (left <= 0) {
      into.append(element("p", lines.slice(at).join("\n")));
      return;
    }
    if (!line.trim()) at += 1;
    else if (FENCE.test(line)) at = fence(lines, at, into);
    else if (HEADING.test(line)) at = heading(line, at, into);
    else if (RULE.test(line)) at = rule(at, into);
    else if (QUOTE.test(line) && depth < DEEPEST) at = quote(lines, at, into, depth);
    else if (BULLET.test(line)) at = list(lines, at, into, "ul", BULLET);
    else if (NUMBER.test(line)) at = list(lines, at, into, "ol", NUMBER);
    else at = paragraph(lines, at, into);
  }
}

function fence(lines, at, into) {
  const mark = FENCE.exec(lines[at])[1];
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().slice(mark.length).trim())) end += 1;
  const box = element("pre");
  box.tabIndex = 0;
  box.append(element("code", lines.slice(at + 1, end).join("\n")));
  into.append(box);
  return end + 1;
}

function heading(line, at, into) {
  const made = element("p");
  made.className = "heading";
  inline(HEADING.exec(line)[1], made, 0);
  into.append(made);
  return at + 1;
}

function rule(at, into) {
  into.append(element("hr"));
  return at + 1;
}

function quote(lines, at, into, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const made = element("blockquote");
  blocks(lines.slice(at, end).map((line) => line.replace(QUOTE, "")), made, depth + 1);
  into.append(made);
  return end;
}

function list(lines, at, into, kind, mark) {
  const made = element(kind);
  if (kind === "ol") made.start = Number(NUMBER.exec(lines[at])[1]);
  let end = at;
  while (end < lines.length && mark.test(lines[end]) && left > 0) {
    const item = [lines[end].replace(mark, "")];
    for (end += 1; end < lines.length && /^\s+\S/.test(lines[end]) && !mark.test(lines[end]); end += 1) item.push(lines[end].trim());
    const entry = element("li");
    entry.dir = "auto";
    inline(item.join("\n"), entry, 0);
    made.append(entry);
  }
  into.append(made);
  return end;
}

function paragraph(lines, at, into) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !begins(lines[end])) end += 1;
  const made = element("p");
  made.dir = "auto";
  inline(lines.slice(at, end).join("\n"), made, 0);
  into.append(made);
  return end;
}

// Inline: what a character may begin. A mark without its end is text, and is not looked for twice.

const SPECIAL = /[\\`*_~[<h]/g;
const EMPHASIS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const ADDRESS = /https?:\/\/[^\s<>"'`]{1,2000}/iy;
const ANGLE = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy;
const LINK = /\[([^\][]{1,500})\]\(\s*<?([^\s<>()]{1,2000}(?:\([^\s<>()]{0,500}\)[^\s<>()]{0,500})?)>?(?:\s+"[^"]{0,500}")?\s*\)/y;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;

function inline(text, into, depth) {
  const unfinished = new Set();
  let plain = "";
  const put = (node) => {
    if (plain) into.append(plain);
    plain = "";
    into.append(node);
  };
  let at = 0;
  while (at < text.length && left > 0) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text);
    if (!next) break;
    plain += text.slice(at, next.index);
    at = next.index;
    const [node, end] = special(text, at, unfinished, depth);
    if (typeof node === "string") plain += node;
    else put(node);
    at = end;
  }
  plain += text.slice(at);
  if (plain) into.append(plain);
}

function special(text, at, unfinished, depth) {
  const sign = text[at];
  if (sign === "\\") {
    const found = match(ESCAPED, text, at);
    return found ? [found[1], at + 2] : [sign, at + 1];
  }
  if (sign === "`") return code(text, at, unfinished);
  if (sign === "[" || sign === "<" || sign === "h") return address(text, at, sign);
  return emphasis(text, at, unfinished, depth);
}

function match(form, text, at) {
  form.lastIndex = at;
  return form.exec(text);
}

function code(text, at, unfinished) {
  let size = 1;
  while (text[at + size] === "`") size += 1;
  const mark = "`".repeat(size);
  const end = unfinished.has(mark) ? -1 : text.indexOf(mark, at + size);
  if (end < 0) {
    unfinished.add(mark);
    return [mark, at + size];
  }
  return [element("code", text.slice(at + size, end)), end + size];
}

function address(text, at, sign) {
  if (sign === "[") {
    const found = match(LINK, text, at);
    const made = found && link(found[2], found[1]);
    return made ? [made, at + found[0].length] : [sign, at + 1];
  }
  if (sign === "<") {
    const found = match(ANGLE, text, at);
    const made = found && link(found[1]);
    return made ? [made, at + found[0].length] : [sign, at + 1];
  }
  const found = (at === 0 || /[\s(>*_"']/.test(text[at - 1])) && match(ADDRESS, text, at);
  if (!found) return [sign, at + 1];
  // What ends a sentence is no part of the address.
  const shown = found[0].replace(/[.,;:!?)*_]+$/, "");
  const made = link(shown);
  return made ? [made, at + shown.length] : [sign, at + 1];
}

function emphasis(text, at, unfinished, depth) {
  for (const [mark, name] of EMPHASIS) {
    if (!text.startsWith(mark, at)) continue;
    const end = depth < DEEPEST ? closing(text, at, mark, unfinished) : -1;
    if (end < 0) continue;
    const made = element(name);
    inline(text.slice(at + mark.length, end), made, depth + 1);
    return [made, end + mark.length];
  }
  // A run of marks that mean nothing is taken as a whole.
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return [text.slice(at, end), end];
}

function closing(text, at, mark, unfinished) {
  const first = at + mark.length;
  if (unfinished.has(mark) || !text[first] || /\s/.test(text[first])) return -1;
  // An underscore inside of a word is no mark: snake_case.
  if (mark[0] === "_" && /\w/.test(text[at - 1] ?? " ")) return -1;
  let end = text.indexOf(mark, first + 1);
  while (end >= 0 && !closes(text, end, mark)) end = text.indexOf(mark, end + 1);
  if (end < 0) unfinished.add(mark);
  return end;
}

function closes(text, end, mark) {
  if (/\s/.test(text[end - 1])) return false;
  const behind = text[end + mark.length] ?? " ";
  return !(mark[0] === "_" && /\w/.test(behind)) && !(mark.length === 1 && (behind === mark || text[end - 1] === mark));
}
