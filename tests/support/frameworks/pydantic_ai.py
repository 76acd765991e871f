"""An agent of Pydantic AI whose tool fails: python pydantic_ai.py URL."""

import sys

sys.path.pop(0)

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ratchet.integrations.pydantic_ai import lessons


def fetch(city: str) -> str:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return f"sunny in {city}"


model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=sys.argv[1] + "/v1", api_key="dummy"))
agent = Agent(model, tools=[fetch], capabilities=[lessons("shop")])
print(agent.run_sync("weather?").output)
