"""A crew of CrewAI whose tool fails: python crewai.py URL."""

import os
import sys

sys.path.pop(0)
os.environ |= {"OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from ratchet.integrations.crewai import RatchetListener


@tool("fetch")
def fetch(city: str) -> str:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return f"sunny in {city}"


listener = RatchetListener("shop")
model = LLM(model="openai/gpt-4o", base_url=sys.argv[1] + "/v1", api_key="dummy")
agent = Agent(role="clerk", goal="weather", backstory="none", tools=[fetch], llm=model)
task = Task(description="weather?", expected_output="weather", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
