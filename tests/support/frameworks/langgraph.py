"""A graph of LangGraph whose tool fails, awaited: python langgraph.py URL."""

import asyncio
import sys

sys.path.pop(0)

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from ratchet.integrations.langchain import RatchetMiddleware


@tool
def fetch(city: str) -> str:
    """Fetch the weather of a city."""
    if city == "Oslo":
        raise RuntimeError("HTTP 429 from weather.example: slow down")
    return f"sunny in {city}"


model = ChatOpenAI(model="gpt-4o", base_url=sys.argv[1] + "/v1", api_key="dummy").bind_tools([fetch])
middleware = RatchetMiddleware("shop")
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node(
    "tools", ToolNode([fetch], wrap_tool_call=middleware.wrap_tool_call, awrap_tool_call=middleware.awrap_tool_call)
)
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
print(asyncio.run(graph.compile().ainvoke({"messages": [("user", "weather?")]}))["messages"][-1].content)
