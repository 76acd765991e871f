"""An agent of Google's ADK whose tool fails: python google_adk.py URL."""

import asyncio
import os
import sys

sys.path.pop(0)
os.environ |= {"GOOGLE_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": sys.argv[1]}

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types

from ratchet.integrations.google_adk import RatchetPlugin


def fetch(city: str) -> dict[str, str]:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return {"weather": f"sunny in {city}"}


async def main() -> None:
    agent = Agent(name="shop", model="gemini-2.5-flash", tools=[fetch])
    runner = InMemoryRunner(agent, app_name="shop", plugins=[RatchetPlugin("shop")])
    session = await runner.session_service.create_session(app_name="shop", user_id="me")
    asked = types.Content(role="user", parts=[types.Part(text="weather?")])
    async for event in runner.run_async(user_id="me", session_id=session.id, new_message=asked):
        last = event
    print(last.content.parts[0].text)


asyncio.run(main())
