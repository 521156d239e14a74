"""A foreign service client (Cyclone DDS) calls services of simulation_interfaces of a running simulation node, with the
types and the request header of rmw_cyclonedds_cpp: a service /x is the topics rq/xRequest and rr/xReply, and the
client's number and the request's precede each message. Written from the .srv files of simulation_interfaces 2.x.

    simulation_services.py DOMAIN NODE HEARTBEAT_S

Prints what it checks, and exits with 1 if a check fails."""

import sys
import time
from dataclasses import dataclass
from types import new_class

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import int64, sequence, uint8, uint16, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

RELIABLE = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(1000))
BEST_EFFORT = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(1000))
# Timeouts for the node's discovery, for an answer and for an instant on /clock.
FOUND_WITHIN_S, ANSWERED_WITHIN_S = 60.0, 30.0
# Result codes and states of simulation_interfaces.
UNSUPPORTED, OK, FAILED, ALREADY_IN_TARGET_STATE = 0, 1, 4, 101
PLAYING, PAUSED = 1, 2
SCOPE_ALL, SCOPE_UNKNOWN = 255, 64
CATEGORY_ROBOT = 1
# Features: what this client calls is supported; bounds of named poses and unloading a world are not.
CALLED = {20, 21, 22, 23, 24, 25, 26, 31, 32}
POSE_BOUNDS, WORLD_UNLOADING = 3, 43
STEPS = 7


@dataclass
class Result(IdlStruct, typename="simulation_interfaces::msg::dds_::Result_"):
    result: uint8
    error_message: str


@dataclass
class SimulationState(IdlStruct, typename="simulation_interfaces::msg::dds_::SimulationState_"):
    state: uint8


@dataclass
class SimulatorFeatures(IdlStruct, typename="simulation_interfaces::msg::dds_::SimulatorFeatures_"):
    features: sequence[uint16]
    spawn_formats: sequence[str]
    custom_info: str


@dataclass
class EntityCategory(IdlStruct, typename="simulation_interfaces::msg::dds_::EntityCategory_"):
    category: uint8


@dataclass
class TagsFilter(IdlStruct, typename="simulation_interfaces::msg::dds_::TagsFilter_"):
    tags: sequence[str]
    filter_mode: uint8


@dataclass
class Bounds(IdlStruct, typename="simulation_interfaces::msg::dds_::Bounds_"):
    type: uint8
    points: sequence[ros.Vector3]


@dataclass
class EntityFilters(IdlStruct, typename="simulation_interfaces::msg::dds_::EntityFilters_"):
    filter: str
    categories: sequence[EntityCategory]
    tags: TagsFilter
    bounds: Bounds


# Members of request and response. IDL has no empty struct: an empty request has one member, as in ROS 2.
NOTHING = [("structure_needs_at_least_one_member", uint8)]
RESULT = ("result", Result)
SERVICES = {
    "GetSimulatorFeatures": (NOTHING, [("features", SimulatorFeatures)]),
    "GetSimulationState": (NOTHING, [("state", SimulationState), RESULT]),
    "SetSimulationState": ([("state", SimulationState)], [RESULT]),
    "StepSimulation": ([("steps", uint64)], [RESULT]),
    "GetEntities": ([("filters", EntityFilters)], [RESULT, ("entities", sequence[str])]),
    "ResetSimulation": ([("scope", uint8)], [RESULT]),
}


def with_header(name, members):
    """The message `name` behind the header of rmw_cyclonedds_cpp."""
    annotations = {"client": uint64, "number": int64, **dict(members)}
    typename = f"simulation_interfaces::srv::dds_::{name}_"
    fill = lambda body: body.update(__annotations__=annotations)
    return dataclass(new_class(name, (IdlStruct,), {"typename": typename}, fill))


class Service:
    """A client of one service, with a number of its own."""

    def __init__(self, participant, node, kind, client):
        self.kind, self.client, self.number = kind, client, 0
        request, response = SERVICES[kind]
        self.request = with_header(f"{kind}_Request", request)
        name = f"{node}/" + "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
        requests = Topic(participant, f"rq{name}Request", self.request)
        replies = Topic(participant, f"rr{name}Reply", with_header(f"{kind}_Response", response))
        self.writer = DataWriter(participant, requests, qos=RELIABLE)
        self.reader = DataReader(participant, replies, qos=RELIABLE)

    def is_found(self):
        return self.writer.get_matched_subscriptions() and self.reader.get_matched_publications()

    def call(self, *asked):
        """Sends a request and returns its response; skips responses to others."""
        self.number += 1
        self.writer.write(self.request(self.client, self.number, *asked))
        end = time.monotonic() + ANSWERED_WITHIN_S
        while time.monotonic() < end:
            for reply in self.reader.take(N=100):
                if reply.sample_info.valid_data and (reply.client, reply.number) == (self.client, self.number):
                    return reply
            time.sleep(0.002)
        sys.exit(f"{self.kind} is not answered within {ANSWERED_WITHIN_S} s")


class Client:
    def __init__(self, domain, node, heartbeat_s):
        self.participant, self.heartbeat_s = DomainParticipant(domain), heartbeat_s
        self.services = {kind: Service(self.participant, node, kind, 1000 + i) for i, kind in enumerate(SERVICES)}
        # A second client of one service, which must get its own replies only.
        self.other = Service(self.participant, node, "GetEntities", 2000)
        clock = Topic(self.participant, "rt/clock", ros.Clock)
        self.clock = DataReader(self.participant, clock, qos=BEST_EFFORT)
        self.now_s, self.faults = None, []

    def expect(self, what, is_so):
        print("ok  " if is_so else "FAIL", what, flush=True)
        if not is_so:
            self.faults.append(what)

    def wait_until(self, what, is_so, within_s=ANSWERED_WITHIN_S):
        end = time.monotonic() + within_s
        while time.monotonic() < end and not is_so():
            self.hear()
            time.sleep(0.002)
        self.expect(what, is_so())

    def hear(self):
        for message in self.clock.take(N=1000):
            if message.sample_info.valid_data:
                self.now_s = message.clock.seconds()

    def call(self, kind, *asked):
        return self.services[kind].call(*asked)

    def expect_result(self, what, result, code):
        """Checks a result code; every failure has a text."""
        has_text = bool(result.error_message) or code == OK
        self.expect(f"{what}: {result.result}, '{result.error_message}'", result.result == code and has_text)

    def is_at(self, time_s):
        return self.now_s is not None and abs(self.now_s - time_s) < 0.5 * self.heartbeat_s


def filters(name="", categories=()):
    return EntityFilters(name, [EntityCategory(c) for c in categories], TagsFilter([], 0), Bounds(0, []))


def check_features(client):
    features = client.call("GetSimulatorFeatures", 0).features
    found = set(features.features)
    client.expect(f"features: {features.features}", found >= CALLED and not found & {POSE_BOUNDS, WORLD_UNLOADING})
    client.expect(f"formats: {features.spawn_formats}", "urdf" in features.spawn_formats and features.custom_info)


def check_pause(client):
    client.expect_result("steps while time runs", client.call("StepSimulation", 1).result, FAILED)
    client.expect_result("pause", client.call("SetSimulationState", SimulationState(PAUSED)).result, OK)
    again = client.call("SetSimulationState", SimulationState(PAUSED))
    client.expect_result("pause again", again.result, ALREADY_IN_TARGET_STATE)
    unknown = client.call("SetSimulationState", SimulationState(99))
    client.expect_result("a state that does not exist", unknown.result, FAILED)
    found = client.call("GetSimulationState", 0)
    client.expect(f"paused: {found.state}", found.state.state == PAUSED and found.result.result == OK)


def check_reset_and_steps(client):
    """A reset world begins at zero, so the time after a number of steps is exact."""
    unknown = client.call("ResetSimulation", SCOPE_UNKNOWN)
    client.expect_result("a reset of what does not exist", unknown.result, UNSUPPORTED)
    client.expect_result("reset", client.call("ResetSimulation", SCOPE_ALL).result, OK)
    client.wait_until("the clock is at zero", lambda: client.is_at(0.0))
    client.expect_result("steps", client.call("StepSimulation", STEPS).result, OK)
    client.wait_until(f"the clock is {STEPS} heartbeats on", lambda: client.is_at(STEPS * client.heartbeat_s))
    client.expect_result("a step", client.call("StepSimulation", 1).result, OK)
    client.wait_until("the clock is one heartbeat on", lambda: client.is_at((STEPS + 1) * client.heartbeat_s))


def check_entities(client):
    everything = client.call("GetEntities", filters())
    client.expect(f"{len(everything.entities)} entities",
                  everything.result.result == OK and "viper" in everything.entities)
    for what, of in (("robots", filters(categories=[CATEGORY_ROBOT])), ("by name", filters("^vip"))):
        found = client.call("GetEntities", of)
        client.expect(f"{what}: {found.entities}", found.result.result == OK and found.entities == ["viper"])
    nothing = client.other.call(filters("^nothing of that name$"))
    client.expect(f"another client: {nothing.entities}", nothing.result.result == OK and nothing.entities == [])
    refused = client.call("GetEntities", filters("("))
    client.expect_result("an expression that is none", refused.result, FAILED)


def check_play(client):
    client.expect_result("play", client.call("SetSimulationState", SimulationState(PLAYING)).result, OK)
    client.wait_until("time runs", lambda: client.now_s is not None and client.now_s > 0.2)


def main():
    client = Client(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    found = lambda: all(service.is_found() for service in [*client.services.values(), client.other])
    client.wait_until("the services are found", lambda: found() and client.now_s is not None, FOUND_WITHIN_S)
    if not client.faults:
        for check in (check_features, check_pause, check_reset_and_steps, check_entities, check_play):
            check(client)
    return 1 if client.faults else 0


sys.exit(main())
