"""A plan of places: which thing goes where.

    things    name -> {size: {measure: amount}, allowed: [places], worth}; with `worth`, it may stay behind at that cost
    places    name -> {room: {measure: amount}, cost, least}; `cost` once anything is there, `least` things or none
    prices    thing -> {place: price of putting it there}
    apart     pairs of things that may not share a place; `together`: pairs that must

The answer is thing -> place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ratchet.evolving.scorers.answers import BadAnswer, shown
from ratchet.evolving.scorers.plans.found import Found, number, part
from ratchet.records import Json


def check(spec: Mapping[str, Json], answer: Json) -> Found:
    """Look at every rule once; rules that speak of a thing without a place are not kept where it must have one."""
    if not isinstance(answer, dict):
        raise BadAnswer("the plan is no object of things and their places")
    things, places = part(spec, "things", dict), part(spec, "places", dict)
    put = {
        name: place for name, place in answer.items() if name in things and isinstance(place, str) and place in places
    }
    must = [name for name, thing in things.items() if "worth" not in thing]
    said = [
        "" if answer.keys() <= things.keys() else f"there is no {shown(min(answer.keys() - things.keys()))}",
        *_unknown_places(answer, things, places),
        *(_allowed_fault(name, things[name], put.get(name), name in must) for name in things),
        *_room_faults(things, places, put),
        *_pair_faults(spec, put),
    ]
    faults = [f"{name} has no place" for name in must if name not in put]
    return Found(
        goals=sum(name in put for name in must) if must else min(1, len(put)),
        all_goals=len(must) or 1,
        kept=said.count(""),
        rules=len(said),
        cost=_cost(spec, put),
        faults=(*faults, *filter(None, said)),
    )


def _unknown_places(
    answer: Mapping[str, Json], things: Mapping[str, object], places: Mapping[str, object]
) -> Iterator[str]:
    for name, place in answer.items():
        if name in things and not (isinstance(place, str) and place in places):
            yield f"{name} is put in {shown(place)}, which is no place"


def _allowed_fault(name: str, thing: Mapping[str, Json], place: str | None, must: bool) -> str:
    allowed = thing.get("allowed")
    if place is None:
        return f"{name} has no place" if must else ""
    return f"{name} may not be in {place}" if isinstance(allowed, list) and place not in allowed else ""


def _room_faults(
    things: Mapping[str, Mapping[str, Json]], places: Mapping[str, Mapping[str, Json]], put: Mapping[str, str]
) -> Iterator[str]:
    for place, about in places.items():
        held = [name for name, where in put.items() if where == place]
        room = about.get("room", {})
        assert isinstance(room, dict)
        for measure, limit in room.items():
            used = sum(_size(things[name], measure) for name in held)
            over = used > number(limit)
            yield f"{place} holds {used:g} {measure}, and has room for {number(limit):g}" if over else ""
        if "least" in about:
            few = bool(held) and len(held) < number(about["least"])
            yield f"{place} holds {len(held)}, fewer than {number(about['least']):g}" if few else ""


def _size(thing: Mapping[str, Json], measure: str) -> float:
    size = thing.get("size", {})
    assert isinstance(size, dict)
    return number(size.get(measure))


def _pair_faults(spec: Mapping[str, Json], put: Mapping[str, str]) -> Iterator[str]:
    for name, same in (("apart", False), ("together", True)):
        pairs = spec.get(name, [])
        assert isinstance(pairs, list)
        for pair in pairs:
            assert isinstance(pair, list)
            one, two = (put.get(str(each)) for each in pair)
            if (one is None or two is None) and (one != two or same):
                yield f"{pair[0]} and {pair[1]}: one has no place" if same and one != two else ""
            else:
                broken = one is not None and (one == two) != same
                yield f"{pair[0]} and {pair[1]} must {'share a place' if same else 'be apart'}" if broken else ""


def _cost(spec: Mapping[str, Json], put: Mapping[str, str]) -> float:
    things, places = part(spec, "things", dict), part(spec, "places", dict)
    prices = spec.get("prices", {})
    assert isinstance(prices, dict)
    cost = sum(number(places[place].get("cost")) for place in set(put.values()))
    for name, thing in things.items():
        if name in put:
            held = prices.get(name, {})
            assert isinstance(held, dict)
            cost += number(held.get(put[name]))
        else:
            cost += number(thing.get("worth"))
    return cost
