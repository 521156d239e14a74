"""Foreign DDS peers that read Selene's list of nodes on topic ros_discovery_info as ROS 2 Humble does (identifiers of 24
bytes) and as later distributions and other programs do (of 16).

    node_lists.py DOMAIN

Each announces itself as nodes of its kind do. Exits with 1 if one does not get the list in its form, or gets another."""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, sequence, uint8
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

FOUND_WITHIN_S, WATCHED_S = 60.0, 5.0
NODE = ("/", "selene_simulation")


def list_type(id_bytes):
    """rmw_dds_common/msg/ParticipantEntitiesInfo with identifiers of a size."""

    @dataclass
    class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
        data: array[uint8, id_bytes]

    @dataclass
    class Node(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
        node_namespace: str
        node_name: str
        reader_gid_seq: sequence[Gid]
        writer_gid_seq: sequence[Gid]

    @dataclass
    class NodeList(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
        gid: Gid
        node_entities_info_seq: sequence[Node]

    return NodeList


class Peer:
    def __init__(self, domain, id_bytes, of_participant, of_reader):
        user_data = lambda data: [Policy.Userdata(data)] if data else []
        self.participant = DomainParticipant(domain, Qos(*user_data(of_participant)))
        reliable = Policy.Reliability.Reliable(duration(seconds=1))
        qos = Qos(reliable, Policy.Durability.TransientLocal, Policy.History.KeepLast(100), *user_data(of_reader))
        topic = Topic(self.participant, "ros_discovery_info", list_type(id_bytes))
        self.reader = DataReader(self.participant, topic, qos=qos)

    def names(self):
        """Names of the nodes in the lists that came; a list that does not decode is an error."""
        lists = [s for s in self.reader.take(N=100) if s.sample_info.valid_data]
        return [(n.node_namespace, n.node_name) for one in lists for n in one.node_entities_info_seq]


def main():
    domain = int(sys.argv[1])
    peers = {
        "Humble": Peer(domain, 24, b"enclave=/;", b""),
        "later": Peer(domain, 16, b"enclave=/;", b"typehash=RIHS01_0;"),
        "no node of ROS 2": Peer(domain, 16, b"", b""),
    }
    heard = {name: [] for name in peers}
    begun = time.time()
    while not all(heard.values()) and time.time() < begun + FOUND_WITHIN_S:
        listen(peers, heard)
    end = time.time() + WATCHED_S
    while time.time() < end:
        listen(peers, heard)
    print(heard)
    sys.exit(0 if all(names and set(names) == {NODE} for names in heard.values()) else 1)


def listen(peers, heard):
    for name, peer in peers.items():
        heard[name] += peer.names()
    time.sleep(0.05)


main()
