"""A plan of routes: which vehicle goes where, in which order.

    vehicles  name -> {start, end, room, leaves}
    stops     name -> {load, from, by, takes}; a vehicle that comes before `from` waits; `by` is the latest to come
    places    name -> [x, y] of every stop, start and end; a way costs |dx| + |dy|, and takes as long
    pairs     [first, then]: both by the same vehicle, in that order

The answer is vehicle -> list of stops. Vehicles left out stay where they are, at no cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ratchet.evolving.scorers.answers import BadAnswer, shown
from ratchet.evolving.scorers.plans.found import Found, number, part
from ratchet.records import Json


def check(spec: Mapping[str, Json], answer: Json) -> Found:
    """Drive every route once."""
    if not isinstance(answer, dict) or not all(_is_route(each) for each in answer.values()):
        raise BadAnswer("the plan is no object of vehicles and their lists of stops")
    vehicles, stops = part(spec, "vehicles", dict), part(spec, "stops", dict)
    routes = {name: _route(answer.get(name)) for name in vehicles}
    visits = Counter(stop for route in routes.values() for stop in route)
    strangers = sorted({*(answer.keys() - vehicles.keys()), *(visits.keys() - stops.keys())})
    said = [f"there is no {shown(strangers[0])}" if strangers else ""]
    cost = 0.0
    late: dict[str, str] = {}
    for name, route in routes.items():
        known = [stop for stop in route if stop in stops]
        distance, too_late = _driven(spec, vehicles[name], known)
        cost += distance
        late |= too_late
        load, room = sum(number(stops[stop].get("load")) for stop in known), number(vehicles[name].get("room"), 1e9)
        said.append(f"{name} carries {load:g}, and has room for {room:g}" if load > room else "")
    for stop in stops:
        said.append(f"{stop} is visited {visits[stop]} times" if visits[stop] > 1 else "")
        said.append(late.get(stop, "" if visits[stop] else f"{stop} is not visited"))
    said += _pair_faults(spec, routes)
    return Found(
        goals=sum(visits[stop] > 0 for stop in stops),
        all_goals=len(stops),
        kept=said.count(""),
        rules=len(said),
        cost=cost,
        faults=tuple(filter(None, said)),
    )


def _is_route(value: Json) -> bool:
    return isinstance(value, list) and len(value) <= 1_000 and all(isinstance(each, str) for each in value)


def _route(value: Json) -> list[str]:
    return [str(stop) for stop in value] if isinstance(value, list) else []


def _driven(
    spec: Mapping[str, Json], vehicle: Mapping[str, Json], route: Sequence[str]
) -> tuple[float, dict[str, str]]:
    """Compute the distance driven, and the stops reached too late."""
    stops = part(spec, "stops", dict)
    at, now, distance = str(vehicle["start"]), number(vehicle.get("leaves")), 0.0
    late: dict[str, str] = {}
    for stop in route:
        way = _way(spec, at, stop)
        about = stops[stop]
        distance += way
        now = max(now + way, number(about.get("from")))
        if now > number(about.get("by"), float("inf")):
            late[stop] = f"{stop} is reached at {now:g}, after {number(about['by']):g}"
        now += number(about.get("takes"))
        at = stop
    if route and vehicle.get("end"):
        distance += _way(spec, at, str(vehicle["end"]))
    return distance, late


def _way(spec: Mapping[str, Json], one: str, two: str) -> float:
    places = part(spec, "places", dict)
    return abs(number(places[one][0]) - number(places[two][0])) + abs(number(places[one][1]) - number(places[two][1]))


def _pair_faults(spec: Mapping[str, Json], routes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    pairs = spec.get("pairs", [])
    assert isinstance(pairs, list)
    for pair in pairs:
        assert isinstance(pair, list)
        first, then = map(str, pair)
        kept = any(
            first in route and then in route and route.index(first) < route.index(then) for route in routes.values()
        )
        yield "" if kept else f"{first} must come before {then}, on one route"
