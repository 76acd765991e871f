"""Commands of `ratchet`, by what people want to do: the module that holds each, and its line in the help.

`ratchet --help` and completion read only this table; a test holds it equal to the commands themselves.
"""

from __future__ import annotations

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("start", "See it work on a small history that ships with Ratchet."),
        "init": ("start", "Create the home folder and an empty store."),
        "learn": ("start", "Read session histories and logs."),
        "doctor": ("keep", "Check what is set up, what is wrong, and what to do."),
    },
    "See what keeps failing": {
        "patterns": ("patterns", "Show what keeps failing, what it cost, what fixed it."),
        "sessions": ("sessions", "Sessions: what agents did step by step, what it cost, and all of it searched."),
        "health": ("see", "Rate each agent's recent runs, from 0 to 1."),
        "classify": ("see", "Tell the kind of a failure, and whether the step may be repeated."),
    },
    "Get the fix": {
        "recall": ("see", "Look up what is known to fix this error."),
        "lessons": ("lessons", "Lessons: list what was learnt, approve it, retire it, share it."),
        "predict": ("predict", "Tell how likely a step fails here, before it runs."),
        "backtest": ("backtest", "Replay your own sessions: what would lessons have saved?"),
    },
    "Hand it to an agent": {
        "install": ("deliver", "Hand a coding agent the fix in the failing turn."),
        "uninstall": ("deliver", "Take out what `install` put in."),
        "hook": ("deliver", "Run an installed hook by hand."),
        "mcp": ("mcp", "Be an MCP server for one agent, on standard input and output."),
        "report": ("see", "Do the lessons help, and what became of the changes?"),
    },
    "Change it, and keep what is proven": {
        "loop": ("trials", "Watch the agents: try fixes, keep what is proven."),
        "proposals": ("trials", "Fixes that were thought of: approve one to put it on trial."),
        "trials": ("trials", "Changes on trial: each beside a control arm, kept only when proven better."),
        "settings": ("settings", "Live settings of agents: show them, set them, see their history, go back."),
        "pulse": ("trials", "After how many failures each agent is looked at."),
    },
    "Heal it": {
        "run": ("heal", "Heal what fails, or do a task in words, in a sandbox."),
        "episodes": ("heal", "Show how healing went: every episode, every attempt."),
        "models": ("models", "Language models: which is asked for what, what it costs, whether it answers."),
        "ab": ("compare", "Measure whether memory pays on your tasks."),
    },
    "Measure it, and better it": {
        "bench": ("bench", "Benchmarks, and how well agents do on them."),
        "gate": ("gate", "Decide for your own loop: is this version better, or was it luck?"),
        "compare": ("against", "Compare your project with others: commands, options, tools, endpoints, topics."),
        "evolve": ("evolve", "Better an agent on a benchmark, and keep only what is proven."),
    },
    "Run what nobody has read": {
        "sandbox": ("sandbox", "Run what nobody has read yet, confined to one folder."),
    },
    "Serve it": {
        "serve": ("serve", "Serve the page and the API until Ctrl-C or SIGTERM."),
        "services": ("services", "Services beside Ratchet: the page, a database, Redis, a model, search."),
        "token": ("serve", "Tokens: who may use the server, and for what."),
    },
    "Feed it": {
        "record": ("start", "Record one run of an agent, e.g. from a shell script."),
        "watch-dir": ("start", "Take JSON files that agents drop into a folder."),
    },
    "Keep it": {
        "migrate": ("database", "Copy everything into a database, or back into a file, and prove it."),
        "forget": ("sessions", "Forget sessions: rows, texts, index and evidence, and prove it."),
        "compact": ("database", "Remove old outcomes, events and diffs; lessons and tallies stay."),
    },
    "About": {
        "version": ("keep", "The version of Ratchet."),
    },
}
"""Section -> command -> (module of `ratchet.cli`, short help)."""
