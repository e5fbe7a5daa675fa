// An agent as a program in JavaScript, for Node.js without packages: it answers with the text in capitals, and lists the
// agents that it could give work to on `who`.
//
//   agents:
//     main: {program: {command: [node, program_agent.mjs]}}
//
// Standard output is for messages: use console.error for everything else.
import { createInterface } from "node:readline";

const waiting = new Map();
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

function call(turn, id, tool, params = {}) {
  return new Promise((resolve) => {
    waiting.set(`${turn}/${id}`, resolve);
    say({ type: "call", turn, call: id, tool, params });
  });
}

async function answer(turn) {
  if (turn.work !== "message") return null;
  if (turn.text !== "who") return turn.text.toUpperCase();
  const done = await call(turn.id, "1", "agent_list");
  return done.ok ? done.result : done.error;
}

async function work(turn) {
  try {
    say({ type: "answer", turn: turn.id, text: await answer(turn) });
  } catch (error) {
    say({ type: "fail", turn: turn.id, error: String(error) });
  }
}

say({ type: "hello", protocol: 1 });
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "turn") {
    work(message);
  } else if (message.type === "result") {
    const key = `${message.turn}/${message.call}`;
    waiting.get(key)?.(message);
    waiting.delete(key);
  }
});
