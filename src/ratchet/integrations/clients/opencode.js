// ratchet: begin (`ratchet uninstall opencode` takes it out; written anew by `ratchet install opencode`)
// Hands what failed to Ratchet, and what fixed it before to the model. Whatever is broken, nothing here throws.
import { spawn, spawnSync } from "node:child_process";

const COMMANDS = "COMMANDS";
const LIMIT_MS = 5000;
const MOST = 1000; // answers that are kept for the requests to come

function command(event) {
  return ["/bin/sh", ["-c", COMMANDS[event]]];
}

function ask(event, told) {
  return new Promise((resolve) => {
    let said = "";
    const child = spawn(...command(event), { cwd: told.cwd, stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT_MS });
    child.on("error", () => resolve(""));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (data) => (said += data));
    child.on("close", () => {
      try {
        resolve(JSON.parse(said).hookSpecificOutput.additionalContext);
      } catch {
        resolve("");
      }
    });
    child.stdin.end(JSON.stringify(told));
  });
}

function call(part) {
  const { status, input, output, error, metadata } = part.state;
  const told = { tool_name: part.tool, tool_use_id: part.callID, tool_input: input };
  if (status === "error") told.is_error = true;
  if (metadata?.exit) told.exit_code = metadata.exit;
  return { ...told, tool_response: status === "error" ? error : output };
}

export const Ratchet = async ({ directory }) => {
  const began = Date.now();
  const starts = new Map(); // session -> what it is told at its start
  const answers = new Map(); // call -> what is said below its result

  const told = (session, more) => ({ session_id: session, cwd: directory, ...more });

  async function answer(session, parts) {
    const fresh = parts.filter((part) => part.state.time?.end >= began && !answers.has(part.callID));
    for (const part of fresh) answers.set(part.callID, "");
    if (!fresh.length) return;
    const last = fresh[fresh.length - 1];
    answers.set(last.callID, await ask("PostToolBatch", told(session, { tool_calls: fresh.map(call) })));
    while (answers.size > MOST) answers.delete(answers.keys().next().value);
  }

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID;
      if (event.type === "session.compacted") starts.set(session, ask("SessionStart", told(session, { source: "compact" })));
      if (event.type !== "session.idle") return;
      const input = JSON.stringify(told(session));
      spawnSync(...command("Stop"), { cwd: directory, input, stdio: ["pipe", "ignore", "ignore"], timeout: LIMIT_MS });
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID) return;
      if (!starts.has(sessionID)) starts.set(sessionID, ask("SessionStart", told(sessionID, { source: "startup" })));
      const said = await starts.get(sessionID);
      if (said) output.system.push(said);
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const tools = messages.flatMap((message) => message.parts.filter((part) => part.type === "tool"));
      const ended = tools.filter((part) => part.state.status === "completed" || part.state.status === "error");
      if (!ended.length) return;
      await answer(ended[0].sessionID, ended).catch(() => {});
      for (const part of ended) {
        const said = answers.get(part.callID);
        const field = part.state.status === "error" ? "error" : "output";
        if (said && !part.state[field].includes(said)) part.state[field] += `\n\n${said}`;
      }
    },
  };
};
// ratchet: end
