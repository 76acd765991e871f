"""An agent of the OpenAI Agents SDK whose tool fails: python openai_agents.py URL."""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, add_trace_processor, function_tool, set_trace_processors
from openai import AsyncOpenAI

from ratchet.integrations.openai_agents import RatchetProcessor, with_lessons


@function_tool
def fetch(city: str) -> str:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return f"sunny in {city}"


set_trace_processors([])  # that of the SDK would send traces away
add_trace_processor(RatchetProcessor("shop"))
model = OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="dummy"))
agent = Agent(name="shop", model=model, tools=with_lessons("shop", [fetch]))
print(asyncio.run(Runner.run(agent, "weather?")).final_output)
