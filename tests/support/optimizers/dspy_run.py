"""Optimizes a DSPy program with COPRO on instructions of known worth, alone or with the gate; prints what the program
that it returns holds, and whether it truly is better, as JSON. `python dspy_run.py own|gated SEED FOLDER [idle]`."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from pathlib import Path
from random import Random

HOW, SEED, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
os.environ["DSPY_CACHEDIR"] = str(FOLDER / "cache")

import dspy  # noqa: E402  (it reads where its cache is)
from dspy.lm15 import Message, Response, TextPart, Usage  # noqa: E402

from ratchet.integrations.dspy import ProvenOptimizer, fresh_runs  # noqa: E402

EXAMPLES = 30
GAINS = {} if "idle" in sys.argv else {3: 0.25, 9: 0.2}
"""Instruction -> what it adds to the share of right answers; all others add nothing, or take away a little."""
PROPOSALS = 12
chance = Random(SEED)
asked = {"instructions": 0, "questions": 0}


def applied(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"Rule (\d+)\.", text)]


def solves(text: str) -> float:
    return min(0.95, max(0.05, 0.4 + sum(GAINS.get(each, -0.03 * (each % 2)) for each in applied(text))))


class Scripted:
    """A model that proposes the next instruction, and answers right by odds that the instruction sets."""

    def complete(self, request: object) -> Response:
        system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system)
        if "proposed_instruction" in system:
            fields = {
                "proposed_instruction": f"Rule {asked['instructions']}.",
                "proposed_prefix_for_output_field": "A:",
            }
            asked["instructions"] += 1
        else:
            asked["questions"] += 1
            fields = {"answer": "right" if chance.random() < solves(system) else "wrong"}
        text = "\n".join(f"[[ ## {name} ## ]]\n{value}\n" for name, value in fields.items()) + "[[ ## completed ## ]]"
        return Response(
            id=None,
            model="scripted",
            message=Message.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Usage(input_tokens=0, output_tokens=0, total_tokens=0),
        )


def metric(_example: dspy.Example, prediction: dspy.Prediction, _trace: object = None) -> float:
    return float(prediction.answer == "right")


logging.disable(logging.CRITICAL)
dspy.configure(lm=dspy.LM("scripted", engine=Scripted(), temperature=1.0))
examples = [dspy.Example(question=f"Question {n}?", answer="right").with_inputs("question") for n in range(EXAMPLES)]
optimizer = dspy.COPRO(metric=metric, breadth=PROPOSALS + 1, depth=1)
proven = ProvenOptimizer(optimizer, fresh_runs(metric, examples, num_threads=1))
student = dspy.Predict(dspy.Signature("question -> answer", "Answer."))
compiling = proven if HOW == "gated" else optimizer
found = compiling.compile(student, trainset=examples, eval_kwargs={"num_threads": 1, "display_progress": False})
kept = applied(found.signature.instructions)
print(
    json.dumps(
        {
            "kept": kept,
            "false": [each for each in kept if each not in GAINS],
            "truth": round(solves(found.signature.instructions), 2),
            "runs": asked["questions"] // EXAMPLES,
        }
    )
)
