// What all these bots have in common: the model, asked with what was said in one place so far.
const said = new Map();

export async function ask(place, text) {
  if (!said.has(place)) said.set(place, []);
  const here = said.get(place);
  here.push({ role: "user", content: text });
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: process.env.OPENAI_MODEL, messages: here }),
  });
  const answer = (await response.json()).choices[0].message.content;
  here.push({ role: "assistant", content: answer });
  return answer;
}
