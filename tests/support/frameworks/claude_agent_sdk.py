"""An agent of the Claude Agent SDK whose tool fails: python claude_agent_sdk.py URL."""

import asyncio
import os
import sys

sys.path.pop(0)

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

from ratchet.integrations.claude_agent_sdk import hooks

QUIET = dict.fromkeys(
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"),
    "1",
)


@tool("fetch", "Fetch the weather of a city.", {"city": str})
async def fetch(args: dict[str, str]) -> dict[str, object]:
    if args["city"] == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return {"content": [{"type": "text", "text": f"sunny in {args['city']}"}]}


async def main() -> None:
    options = ClaudeAgentOptions(
        hooks=hooks("shop"),
        mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[fetch])},
        allowed_tools=["mcp__weather__fetch"],
        model="claude-sonnet-4-5",
        setting_sources=[],
        env={
            **QUIET,
            "ANTHROPIC_BASE_URL": sys.argv[1],
            "ANTHROPIC_API_KEY": "dummy",
            "IS_SANDBOX": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "HOME": os.environ["HOME"],
        },
    )
    async for message in query(prompt="weather?", options=options):
        last = message
    print(getattr(last, "result", last))


asyncio.run(main())
