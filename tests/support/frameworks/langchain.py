"""An agent of LangChain whose tool fails: python langchain.py URL."""

import sys

sys.path.pop(0)  # this folder holds a module of the framework's name

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from ratchet.integrations.langchain import RatchetMiddleware


def fetch(city: str) -> str:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return f"sunny in {city}"


model = ChatOpenAI(model="gpt-4o", base_url=sys.argv[1] + "/v1", api_key="dummy")
agent = create_agent(model, [fetch], middleware=[RatchetMiddleware("shop")])
print(agent.invoke({"messages": [("user", "weather?")]})["messages"][-1].content)
