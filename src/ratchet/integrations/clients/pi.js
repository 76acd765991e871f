
function call(message, asked) {
  const said = message.content.map((block) => block.text ?? "").join("\n");
  const told = { tool_name: message.toolName, tool_use_id: message.toolCallId, tool_input: asked.get(message.toolCallId) };
  if (message.isError) told.is_error = true;
  return { ...told, tool_response: said };
}

export default function (pi) {
  const began = Date.now();
  let start;
  const told = (context, more) => {
    const session = context.sessionManager;
    const file = session.getSessionFile();
    return { session_id: session.getSessionId(), cwd: context.cwd, ...(file && { transcript_path: file }), ...more };
  };

  pi.on("session_start", async (event, context) => {
    start = ask("SessionStart", told(context, { source: event.reason }));
  });
  pi.on("session_compact", async (_, context) => {
    start = ask("SessionStart", told(context, { source: "compact" }));
  });
  pi.on("agent_settled", async (_, context) => tell("Stop", told(context)));
  pi.on("context", async ({ messages }, context) => {
    const asked = new Map();
    for (const { role, content } of messages) {
      if (role !== "assistant") continue;
      for (const block of content) if (block.type === "toolCall") asked.set(block.id, block.arguments);
    }
    const results = messages.filter((message) => message.role === "toolResult" && message.timestamp >= began);
    await answer(told(context), results.map((message) => call(message, asked))).catch(() => {});
    for (const message of results) {
      const said = answers.get(message.toolCallId);
      if (said) message.content = [...message.content, { type: "text", text: said }];
    }
    const first = await start;
    if (!first) return { messages };
    return { messages: [{ role: "user", content: [{ type: "text", text: first }], timestamp: began }, ...messages] };
  });
}
