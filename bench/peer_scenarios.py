# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios of bench/peer.py: cells, flows, and the reasons for known differences.

Both simulators get the same settings: no A-MSDUs, no TXOP limit, no losses but collisions, queues
that never drop TCP's segments (first in, first out, without AQM), best effort with AIFSN 3 and
CWmin 15, responses and RTS at 24 Mbit/s, 7 attempts, no MPDU spacing, stations 1 m away. A scenario
that deviates from them says so, with `airtcp`, `ns3` or both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from capture_model import solve
from peer_radios import RADIOS
from radio import MPDU_OCTETS, OCTETS
from wifi_timing import ACK, legacy, ppdu_us, rate_mbps, saturated_goodput_mbps

SECONDS, LONG_SECONDS, CAPTURE_SECONDS = 2, 8, 30
"""Of the measurement; LONG_SECONDS: TCP, and where A-MPDUs of 16 stations collide. In 2 s, TCP's
goodput varies by more than 1% with the seed, in both.
"""
WARMUP_S, SLOW_WARMUP_S = 1, 2
"""From the start of the flows to the measurement: BlockAck sessions; slow start with long RTTs."""
BUFFER_BYTES = 3 << 20
"""Of all flows together: more than the paths hold, with 20 ms of wire."""
LEAST_BUFFER_BYTES = 384 << 10
LOSS_AT_22_DB = 1 - (1 - 0.295714) ** (MPDU_OCTETS / 1500)
"""Of an MPDU at 54 Mbit/s by the NIST model, with the difference of 4 m and 22 m as its SINR."""
ACK_DELAY_MS = 40
"""A first window of 10 segments does not wait longer for the 16th."""


@dataclass(frozen=True)
class Capture:
    """All radios capture, with the NIST model: distances of the first station and of the others.

    loss: probability that the first station's frame does not survive a collision with another one.
    """

    near_m: int
    far_m: int
    loss: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A cell in both simulators.

    place: the stations at one point, or in a ring around the access point. legacy_stations: the
    first stations have 802.11a at 54 Mbit/s. capture: of 802.11a; counted: the goodput of which
    stations is compared. Not comparable: the radio does not decide. airtcp,
    ns3: settings of one side that deviate. ns3_rules: arguments of Radio.contention_mbps, or with
    capture of capture_model.solve, that describe ns-3. notes: keys of NOTES that explain a
    difference.
    """

    radio: str
    protocol: str
    direction: str = "download"
    stations: int = 1
    place: str = "point"
    delay_ms: int = 0
    ack_count: int = 0
    rts: bool = False
    legacy_stations: int = 0
    capture: Capture | None = None
    counted: Literal["all", "near", "far"] = "all"
    seconds: int = SECONDS
    comparable: bool = True
    what: str = ""
    airtcp: Mapping[str, str] = field(default_factory=dict)
    ns3: Mapping[str, object] = field(default_factory=dict)
    ns3_rules: Mapping[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        radio = RADIOS[self.radio]
        width = f" {radio.rate.width_mhz} MHz"
        words = [
            radio.standard + ("" if radio.legacy else width),
            self.protocol.upper(),
            self.direction,
        ]
        if self.protocol == "tcp":
            words += [f"{self.delay_ms} ms,", f"ACK per {self.ack_count}"]
        if self.stations > 1:
            words[-1] += ","
            words += [f"{self.stations} stations", "in a ring" if self.place == "ring" else ""]
        if self.legacy_stations:
            words += [f"of which {self.legacy_stations} with 802.11a"]
        if self.capture:
            words += [f"of which 1 at {self.capture.near_m} m, others at {self.capture.far_m} m"]
        return " ".join(filter(None, words)) + (
            "".join(f"; {text}" for text in (self.what, _COUNTED[self.counted]) if text)
        )

    @property
    def warmup_s(self) -> int:
        many = self.protocol == "tcp" and self.stations > 4
        return SLOW_WARMUP_S if self.delay_ms or many else WARMUP_S

    @property
    def buffer_bytes(self) -> int:
        """Send buffer of a flow."""
        return max(BUFFER_BYTES // self.stations, LEAST_BUFFER_BYTES)

    def parameters(self) -> dict[str, str]:
        """airtcp's parameters."""
        settings = {**RADIOS[self.radio].parameters(), "preset": "generic"}
        if self.rts:
            settings["rts_threshold"] = "0B"
        return {**settings, **self.airtcp}

    def tcp_parameters(self) -> dict[str, str]:
        """airtcp's parameters of a run that measures TCP."""
        return {
            **self.parameters(),
            "ack_policy": "count",
            "ack_count": str(self.ack_count),
            "ack_count_delay": f"{ACK_DELAY_MS}ms",
            "ack_delay_bound": "off",
            "delay": f"{self.delay_ms}ms",
            "direction": self.direction,
            "stations": str(self.stations),
            "hystart": "off",
            "nagle": "off",
            "gro": "off",
            "gso": "off",
            "tso": "off",
            "tsq": "off",
            # Linux charges sk_buffs, too: about 2200 bytes for a segment.
            "tcp_wmem_max": f"{self.buffer_bytes * 3 // 2}B",
            "queue": "fifo",
            "fifo_mpdus": "65535",
            "wire_queue": "1000000",
            "ping_interval": "0ms",
            "duration": f"{self.warmup_s + self.seconds + 1}s",
        }

    def parts(self) -> list["Scenario"]:
        """The scenario for each group of stations whose goodput is compared."""
        if not self.capture:
            return [self]
        return [replace(self, counted="near"), replace(self, counted="far")]

    def settings(self) -> tuple[object, ...]:
        """All that determines airtcp's run."""
        cell = self.direction, self.stations, self.place, self.legacy_stations, self.capture
        if self.protocol == "tcp":
            return cell, self.tcp_parameters()
        return cell, self.parameters(), self.warmup_s, self.seconds

    def options(self, seed: int) -> dict[str, object]:
        """Options of ns3-scenario."""
        radio = RADIOS[self.radio]
        options = {
            **radio.options(),
            "protocol": self.protocol,
            "direction": self.direction,
            "stations": self.stations,
            "place": self.place,
            "legacy_stations": self.legacy_stations,
            "distance_m": 1,
            "queue": "fifo",
            "queue_packets": 1000,
            "warmup_s": self.warmup_s,
            "seconds": self.seconds,
            "seed": seed,
            "lifetime_s": 100,
        }
        if self.rts:
            options["rts_octets"] = 0
        if self.protocol == "udp":
            # More than a station gets, so that its queue is full.
            senders = self.stations - self.legacy_stations
            options["udp_mbps"] = round(rate_mbps(radio.rate) / senders)
            if self.capture:
                options |= {
                    "capture": "true",
                    "near_m": self.capture.near_m,
                    "distance_m": self.capture.far_m,
                    # The near station gets more than an equal share.
                    "udp_mbps": round(rate_mbps(radio.rate)),
                }
        else:
            options |= {
                # airtcp's driver takes the stations in turn. 1000 packets are A-MPDUs for all.
                "queue": "fair" if self.stations > 1 else "fifo",
                "queue_packets": 1000 if self.stations > 1 else 65535,
                "ap_cw_max": 63,
                "delay_ms": self.delay_ms or 0.001,
                "ack_count": self.ack_count,
                "ack_delay_ms": ACK_DELAY_MS,
                "send_buffer": self.buffer_bytes,
                "hystart": "false",
            }
        return {**options, **self.ns3}

    @property
    def contends(self) -> bool:
        return self.stations > 1 and self.direction == "upload"

    def expected_mbps(self) -> float | None:
        """Goodput by the standard's arithmetic, for UDP with equal stations; else None.

        Contending stations are simulated (tests/support/edca_simulation.py); with capture it is
        that of a model (tests/support/capture_model.py).
        """
        radio = RADIOS[self.radio]
        if self.protocol != "udp" or self.rts or self.legacy_stations:
            return None
        if self.capture:
            return self._captured_mbps()
        if self.contends:
            return radio.contention_mbps(self.stations)
        return saturated_goodput_mbps(
            radio.rate,
            OCTETS,
            MPDU_OCTETS,
            ampdu_mpdus=radio.ba_window,
            ampdu_octets=radio.ampdu_octets,
            ba_window=radio.ba_window,
        )

    def expected_of_ns3_mbps(self) -> float | None:
        """The same by the simplifications of ns-3 that explain a difference; else None."""
        if not self.ns3_rules:
            return None
        if self.capture:
            return self._captured_mbps(**self.ns3_rules)
        return RADIOS[self.radio].contention_mbps(self.stations, **self.ns3_rules)

    def _captured_mbps(self, eifs: bool = True) -> float:
        assert self.capture
        rate, control = RADIOS[self.radio].rate, legacy(24000)
        times_us = ppdu_us(rate, MPDU_OCTETS), ppdu_us(control, ACK)
        model = solve(self.stations - 1, *times_us, OCTETS, loss=self.capture.loss, eifs=eifs)
        return model.near_mbps if self.counted == "near" else model.far_mbps


_COUNTED = {"all": "", "near": "the near one", "far": "the others"}

NOTES = {
    "eifs": "ns-3 detects a preamble only if it is 4 dB stronger than the interference. Of frames "
    "that collide with equal strength it detects none, so the other stations do not wait EIFS. "
    "IEEE 802.11-2020, 10.3.2.3.7, requires EIFS after a frame that the PHY has received with an "
    "error; equal OFDM preambles that overlap within a guard interval can be detected. ns-3's "
    "rules: the simulation without EIFS, at different distances the model without it.",
    "header": "Inferred: without preamble detection, ns-3 receives the signal fields of the "
    "first of two equally strong frames often enough that an A-MPDU that collides with a "
    "BlockAckReq loses only the MPDUs that overlap it. airtcp loses a PPDU whose preamble is "
    "overlapped. The standard leaves reception at such an interference to the receiver. ns-3's "
    "rules: the simulation without BlockAckReqs.",
    "window": "After a missing BlockAck, ns-3 sends BlockAckReqs without end, and its contention "
    "window stays at CWmax. IEEE 802.11-2020, 10.23.2.2, resets it to CWmin when a transmission "
    "fails after the retry counter has reached dot11ShortRetryLimit, 7. ns-3's rules: the "
    "simulation with this and without EIFS.",
    "windows": "Inferred from the ratio, which grows with the send buffers: the access point "
    "gets one access in 17, and its A-MPDU of 64 ACKs acknowledges 128 segments, while the 16 "
    "stations send up to 672. Until the next ACKs, stations have closed windows: the two TCPs "
    "and their send buffers determine how many stations contend.",
    "protection": "ns-3 sends HT PPDUs unprotected though non-HT stations are associated: its "
    "access point announces mixed mode, but nothing calls "
    "WifiRemoteStationManager::SetUseNonHtProtection. IEEE 802.11-2020, 9.4.2.56 and 10.27.3, "
    "requires protection, which airtcp provides with RTS and CTS.",
    "fifo": "ns-3 sends in order of arrival over all stations: while the window of a station is at "
    "the head, consecutive A-MPDUs go to it, and it alone has ACKs to send. airtcp's driver takes "
    "the stations in turn, as mac80211 does, so several contend with ACKs. The standard does not "
    "specify the order. The scenario above has ns-3's fair queueing instead.",
    "spacing": "ns-3 does not implement the Minimum MPDU Start Spacing of the receiver (IEEE "
    "802.11-2020, 10.12.3), which lengthens A-MPDUs of TCP's ACKs.",
}


def udp() -> Iterator[Scenario]:
    for radio in RADIOS:
        yield Scenario(radio, "udp")
    yield Scenario("n", "udp", stations=16)
    without = {"preamble_detection": "false"}
    for stations in (4, 16):
        upload = Scenario("a", "udp", "upload", stations)
        yield replace(upload, notes=("eifs",), ns3_rules={"eifs": False})
        yield replace(upload, what="ns-3 without preamble detection", ns3=without)
    for stations, seconds in ((4, SECONDS), (16, LONG_SECONDS)):
        for place in ("point", "ring"):
            upload = Scenario("n", "udp", "upload", stations, place, seconds=seconds)
            rules = {"eifs": False, "cw_reset": False}
            yield replace(upload, notes=("eifs", "window"), ns3_rules=rules)
    yield Scenario(
        "n",
        "udp",
        "upload",
        4,
        what="ns-3 without preamble detection",
        ns3=without,
        notes=("header",),
        ns3_rules={"bar": False},
    )
    yield Scenario("n", "udp", "upload", 4, rts=True, what="RTS")
    # ns-3's channel model has no overlap of 20 and 40 MHz.
    mixed = Scenario("n20", "udp", "upload", 4, legacy_stations=2)
    yield replace(mixed, notes=("protection",))
    yield replace(mixed, what="ns-3 with RTS", ns3={"rts_octets": 0})


def captured() -> Iterator[Scenario]:
    """54 Mbit/s survive a collision at 1 m against stations at 20 m; at 4 m against 22 m often."""
    two = Scenario("a", "udp", "upload", 2, seconds=CAPTURE_SECONDS)
    yield replace(two, capture=Capture(1, 20))
    yield replace(two, capture=Capture(4, 22, LOSS_AT_22_DB))
    for stations in (4, 10):
        yield replace(
            two,
            stations=stations,
            capture=Capture(1, 20),
            notes=("eifs",),
            ns3_rules={"eifs": False},
        )


def tcp() -> Iterator[Scenario]:
    cell = partial(Scenario, protocol="tcp", seconds=LONG_SECONDS)
    for count in (1, 2, 4, 8, 16):
        yield cell("n", ack_count=count)
    for count in (1, 2, 16):
        yield cell("n", ack_count=count, delay_ms=20)
    spacing = {"mpdu_spacing": "8us"}
    yield cell("n", ack_count=1, airtcp=spacing, what="MPDU spacing 8 us", notes=("spacing",))
    for count in (1, 2, 16):
        yield cell("n", direction="upload", ack_count=count)
    yield cell("n", direction="upload", ack_count=2, delay_ms=20)
    for radio, count in (("ac", 2), ("ac", 16), ("ax", 16)):
        yield cell(radio, ack_count=count)
    yield cell("n", direction="upload", stations=4, ack_count=2)
    yield cell(
        "n", direction="upload", stations=16, ack_count=2, comparable=False, notes=("windows",)
    )
    yield cell("n", stations=16, ack_count=2)
    yield cell("n", stations=4, ack_count=2)
    yield cell(
        "n",
        stations=4,
        ack_count=2,
        what="ns-3 with FIFO",
        ns3={"queue": "fifo", "queue_packets": 65535},
        notes=("fifo",),
    )


def scenarios() -> Iterator[Scenario]:
    yield from udp()
    yield from captured()
    yield from tcp()
