// The official TypeScript client as a host: `node client.mjs ERA TOOL ARGUMENTS COMMAND…` prints what it has seen.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [era, tool, given, command, ...args] = process.argv.slice(2);
const seen = { asked: [], sampled: 0, progress: 0 };
const client = new Client(
  { name: "interop", version: "1" },
  {
    capabilities: { elicitation: { form: {} }, sampling: { tools: {} } },
    versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: era } },
  },
);
client.setRequestHandler("elicitation/create", async (request) => {
  seen.asked.push(request.params.message);
  return { action: "accept", content: { decision: "approve" } };
});
client.setRequestHandler("sampling/createMessage", async (request) => {
  seen.sampled += 1;
  const input = { calls: [{ _tool: "send", to: "†input.who" }], output: "†calls.0" };
  const content = [{ type: "tool_use", id: "1", name: request.params.tools[0].name, input }];
  return { role: "assistant", model: "m", stopReason: "toolUse", content };
});
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
seen.tools = (await client.listTools()).tools.map((one) => one.name);
const onprogress = () => { seen.progress += 1; };
seen.result = await client.callTool({ name: tool, arguments: JSON.parse(given) }, { onprogress });
await client.close();
console.log(JSON.stringify(seen));
