// AG-UI's own client against `actum serve`: node agui.mjs URL TOKEN. It rejects what its schemas and rules of order do.
import { HttpAgent } from "@ag-ui/client";

const [url, token] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId: "t1", headers: { Authorization: `Bearer ${token}` } });
agent.messages = [{ id: "1", role: "user", content: "Greet Ann." }];
const runs = [];

async function run(input) {
  const told = { types: [], finished: null, errors: [] };
  await agent.runAgent(input, {
    onEvent: ({ event }) => {
      told.types.push(event.type);
      if (event.type === "RUN_FINISHED") told.finished = event;
    },
    onRunFailed: ({ error }) => {
      told.errors.push(String(error));
    },
  });
  runs.push(told);
  return told;
}

const tools = [
  {
    name: "pick",
    description: "Asks the user to pick one.",
    parameters: { type: "object", properties: { of: { type: "array" } }, required: ["of"] },
  },
];
const first = await run({ runId: "r1", tools });
for (const id of first.finished?.outcome?.pendingToolCallIds ?? []) {
  agent.messages.push({ id: `${id}:made`, role: "tool", toolCallId: id, content: JSON.stringify({ picked: "b" }) });
}
const resume = (first.finished?.outcome?.interrupts ?? []).map(({ id }) => ({
  interruptId: id,
  status: "resolved",
  payload: { approved: true },
}));
await run(resume.length ? { runId: "r2", resume } : { runId: "r2", tools });
console.log(JSON.stringify({ runs, messages: agent.messages, state: agent.state }));
