// The plugins of OpenClaw, and the hashes of everything that npm installs for them.
//
//   check.cjs list FILE             the plugins that FILE names, one on each line: NAME@VERSION
//   check.cjs verify PROJECTS FILE  fails if what is below PROJECTS is not exactly what FILE names
//   check.cjs lock PROJECTS FILE    writes the hashes of what is below PROJECTS to FILE
//   check.cjs copy FROM TO          copies a package-lock.json without addresses
"use strict";
const fs = require("fs");
const path = require("path");

const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
const write = (file, value) => fs.writeFileSync(file, JSON.stringify(value, null, 1) + "\n");

/** Of each project: package -> "VERSION HASH", from the lock that npm wrote. What a package brings inside has its hash. */
function installed(projects) {
  const found = {};
  for (const name of fs.readdirSync(projects).sort()) {
    const folder = path.join(projects, name);
    if (!fs.existsSync(path.join(folder, "package-lock.json"))) continue;
    const [plugin] = Object.keys(read(path.join(folder, "package.json")).dependencies);
    const packages = read(path.join(folder, "package-lock.json")).packages;
    const entries = Object.entries(packages)
      .filter(([where, one]) => where !== "" && !one.link && !one.inBundle && fs.existsSync(path.join(folder, where)))
      .map(([where, one]) => [where.replace(/^node_modules\//, ""), `${one.version} ${one.integrity ?? ""}`.trim()]);
    found[plugin] = Object.fromEntries(entries.sort());
  }
  return found;
}

function differences(want, have) {
  const lines = [];
  for (const [plugin, packages] of Object.entries(want)) {
    const got = have[plugin];
    if (got === undefined) lines.push(`${plugin} is not installed`);
    else
      for (const name of new Set([...Object.keys(packages), ...Object.keys(got)]))
        if (packages[name] !== got[name])
          lines.push(`${plugin}: ${name} is ${got[name] ?? "missing"}, not ${packages[name] ?? "expected at all"}`);
  }
  return lines;
}

const [what, first, second] = process.argv.slice(2);
if (what === "list") {
  for (const [name, version] of Object.entries(read(first).plugins)) console.log(`${name}@${version}`);
} else if (what === "verify") {
  const lines = differences(read(second).packages, installed(first));
  lines.forEach((line) => console.error(line));
  process.exit(lines.length ? 1 : 0);
} else if (what === "lock") {
  write(second, { plugins: read(second).plugins, packages: installed(first) });
} else if (what === "copy") {
  const lock = read(first);
  for (const one of Object.values(lock.packages)) {
    delete one.resolved;
    delete one.funding;
  }
  write(second, lock);
} else {
  console.error("usage: check.cjs list|verify|lock|copy ...");
  process.exit(2);
}
