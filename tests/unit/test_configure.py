# SPDX-License-Identifier: GPL-2.0-only
"""Steps that the guest's program `configure` executes, and those that need other programs."""

import pytest
from plans import planned

from airtcp.backends import configure, shell
from airtcp.steps import step
from airtcp.steps.step import In, Note, Run, Step, Sysctl, run


@pytest.mark.parametrize(
    "command",
    [
        "ip netns add ap",
        "ip link add eth0 netns server address 02:00:00:00:10:01 type veth peer name p1 netns ap",
        "ip link add br0 type bridge",
        "ip link set eth0 up master br0",
        "ip link set eth0 gso_max_segs 2",
        "ip address add 10.0.0.1/24 dev eth0",
        "ip neighbour replace 10.0.0.2 lladdr 02:61:69:72:01:00 nud permanent dev eth0",
        "iw phy phy12 set netns name station12",
        "iw phy phy0 set rts 500",
        "ethtool -K eth0 gro off tso off",
        "ping -nq -c 1 -w 10 10.0.0.1",
    ],
)
def test_commands_that_configure_knows_are_its_lines(command: str) -> None:
    assert configure.line(run(command)) == command


@pytest.mark.parametrize(
    "item",
    [
        run("ip route add 10.0.0.2/32 dev eth0"),
        run("ip link set eth0 mtu 1280"),
        run("ip link add eth0 type vlan id 3"),
        run("ethtool -K eth0 gro on"),
        run("ping -nq -c 2 -w 10 10.0.0.1"),
        run("ip netns add ap", stdout="file"),
        Run(("ip", "netns", "add", "ap"), required=False),
        Run(("ip", "netns", "add", "a b")),
        run("hostapd -B /tmp/hostapd.conf"),
        step.Sleep(1),
    ],
)
def test_other_steps_need_other_programs(item: Step) -> None:
    assert configure.line(item) is None


def test_nodes_change_only_where_the_next_command_needs_it() -> None:
    steps: list[Step] = [
        run("ip netns add a"),
        In("a", [run("ip link set lo up"), Note("Why."), Sysctl("tcp_rmem", "1 2 3")]),
        run("ping -nq -c 1 -w 10 10.0.0.1", node="b", stdout="/dev/null"),
        In("a", [run("tc qdisc add dev eth0 root pfifo"), step.Offload("eth0", "gro")]),
        run("airsim radio show"),
    ]
    script = shell.render(steps)
    assert script.endswith(
        """\
configure <<'END' || exit 1
ip netns add a
node a
ip link set lo up
# Why.
sysctl tcp_rmem 1 2 3
node b
ping -nq -c 1 -w 10 10.0.0.1
END
must node a tc qdisc add dev eth0 root pfifo
configure <<'END' || exit 1
node a
offload eth0 gro
END
must airsim radio show
"""
    )


def test_a_network_with_radios_needs_few_other_programs() -> None:
    script = shell.render(planned(stations=3))
    for name in ("must ip ", "must iw ", "must ethtool ", "must ping ", "in_node "):
        assert name not in script
