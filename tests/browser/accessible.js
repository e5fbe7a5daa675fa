// What is wrong for people who cannot see the page well, or have no mouse: a list of sentences.
(() => {
  const wrong = [];
  const visible = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
  const name = (one) => `${one.tagName.toLowerCase()}${one.id ? `#${one.id}` : ""}.${one.className}`;
  const labelled = (one) =>
    (one.getAttribute("aria-label") || "").trim() || [...(one.labels ?? [])].some((label) => label.textContent.trim()) || one.textContent.trim();

  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (!document.title) wrong.push("the page has no title");
  if ([...document.querySelectorAll("main")].filter(visible).length !== 1) wrong.push("the page has not one main part");
  if ([...document.querySelectorAll("h1")].filter(visible).length !== 1) wrong.push("the page has not one heading");
  for (const one of document.querySelectorAll("input, textarea, button, a, [role=log], [tabindex]")) {
    if (visible(one) && !labelled(one)) wrong.push(`${name(one)} has no label`);
  }
  for (const one of document.querySelectorAll("img")) if (!one.hasAttribute("alt")) wrong.push(`${name(one)} has no alt`);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
  for (const one of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    for (const id of `${one.getAttribute("aria-describedby") ?? ""} ${one.getAttribute("aria-labelledby") ?? ""}`.trim().split(/\s+/)) {
      if (!document.getElementById(id)) wrong.push(`${name(one)} refers to ${id}, which is not there`);
    }
  }

  // Contrast of text, by WCAG 2.1. A canvas reads any form of colour.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found[3] > 0.99) return found;
    }
    return [255, 255, 255, 1];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  for (const one of document.querySelectorAll("body *")) {
    const text = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!text || !visible(one) || one.closest(".unseen") || one.matches(":disabled")) continue;
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) wrong.push(`${name(one)} has a contrast of ${contrast.toFixed(2)}`);
  }
  return wrong;
})()
