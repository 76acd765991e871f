
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
  const told = (session, more) => ({ session_id: session, cwd: directory, ...more });

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID;
      if (event.type === "session.compacted") starts.set(session, ask("SessionStart", told(session, { source: "compact" })));
      if (event.type === "session.idle") tell("Stop", told(session));
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID) return;
      if (!starts.has(sessionID)) starts.set(sessionID, ask("SessionStart", told(sessionID, { source: "startup" })));
      const said = await starts.get(sessionID);
      if (said) output.system.push(said);
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const tools = messages.flatMap((message) => message.parts.filter((part) => part.type === "tool"));
      const ended = tools.filter((part) => part.state.time?.end >= began);
      if (!ended.length) return;
      await answer(told(ended[0].sessionID), ended.map(call)).catch(() => {});
      for (const part of ended) {
        const said = answers.get(part.callID);
        const field = part.state.status === "error" ? "error" : "output";
        if (said && !part.state[field].includes(said)) part.state[field] += `\n\n${said}`;
      }
    },
  };
};
