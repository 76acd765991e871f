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

function tell(event, told) {
  const input = JSON.stringify(told);
  spawnSync(...command(event), { cwd: told.cwd, input, stdio: ["pipe", "ignore", "ignore"], timeout: LIMIT_MS });
}

const answers = new Map(); // call -> what is said below its result

// `calls` are all that ended, by their ids; those that were not asked about before are, together.
async function answer(told, calls) {
  const fresh = calls.filter((each) => !answers.has(each.tool_use_id));
  if (!fresh.length) return;
  for (const each of fresh) answers.set(each.tool_use_id, "");
  answers.set(fresh[fresh.length - 1].tool_use_id, await ask("PostToolBatch", { ...told, tool_calls: fresh }));
  while (answers.size > MOST) answers.delete(answers.keys().next().value);
}
