# SPDX-License-Identifier: GPL-2.0-only
"""Writes the files of a run as the guest would, with few rows and round numbers."""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from airtcp.backends.uml import EPOCH_NS
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.metrics import Value
from airtcp.experiment.reader import load
from airtcp.files.airsim import read_airsim
from airtcp.kernel.image import Kernel
from airtcp.results import assembly
from airtcp.results.documents import SweepDocument
from airtcp.results.record import Cost, KernelRecord, RunRecord

START_NS = 1_700_000_000_000_000_000
DATA_PORT = 40001
CONTROL_PORT = 40000

TCP_COLUMNS = (
    "time_ns,event,local,remote,state,cwnd,ssthresh,srtt_us,rttvar_us,min_rtt_us,rto_us,rcv_rtt_us,"
    "bytes_acked,bytes_received,segs_out,segs_in,data_segs_out,data_segs_in,retrans,lost,unacked,"
    "delivery_rate_bps,pacing_rate_bps,notsent_bytes,rwnd_limited_us,sndbuf_limited_us"
)


def record(case: Case, seed: int, metrics: Mapping[str, Value], **changed: Any) -> RunRecord:
    """The record of a successful run, with the fields in `changed` replaced."""
    successful = RunRecord(
        factors=case.factors,
        seed=seed,
        status="ok",
        error=None,
        metrics=metrics,
        cost=Cost(wall_s=2.0, cpu_s=1.5, virtual_s=15.0),
        artifacts={},
        parameters=case.parameters.plain(),
        kernel=KernelRecord(version="6.12.9", hash="0123456789abcdef"),
        identity=f"{case.slug} {seed}",
    )
    return successful.model_copy(update=changed)


def document(
    name: str, runs: Mapping[tuple[str, ...], Sequence[Mapping[str, Value]]]
) -> SweepDocument:
    """The results of an experiment: metrics of each seed, by settings NAME=VALUE."""
    experiment = load(name)
    cases, records = [], []
    for settings, seeds in runs.items():
        [case] = experiment.cases([Setting.parse(setting) for setting in settings])
        cases.append(case)
        records += [(case, record(case, seed, metrics)) for seed, metrics in enumerate(seeds, 1)]
    kernel = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
    return assembly.document(experiment, cases, kernel, records, "./airtcp run")


def tcp_row(event: str, time_ms: int, local: str, remote: str, /, **values: int) -> str:
    numbers = [
        str(values.get(name, 0))
        for name in TCP_COLUMNS.split(",")
        if name not in ("time_ns", "event", "local", "remote", "state")
    ]
    stamp = START_NS + time_ms * 1_000_000
    return ",".join([str(stamp), event, local, remote, "1", *numbers])


def write_tcp(path: Path, rows: Sequence[str]) -> None:
    path.write_text("\n".join([TCP_COLUMNS, *rows, ""]))


# Counters of airsim after the transfer; tx_taken and rx_received are the sums of the lines below.
FATES = {
    "tx_taken": 1000,
    "tx_acked": 900,
    "tx_unanswerable": 60,
    "tx_dropped_retries": 25,
    "tx_dropped_stopped": 5,
    "tx_dropped_queue_gone": 3,
    "tx_queued": 7,
    "rx_received": 950,
    "rx_handed_up": 940,
    "rx_no_memory": 1,
    "rx_dropped_stopped": 4,
    "rx_waiting": 5,
}


def write_iperf3(
    run_dir: Path,
    *,
    rates_mbps: Sequence[float],
    ports: Sequence[int] = (DATA_PORT,),
    name: str = "",
) -> None:
    intervals = [
        {"sum": {"start": second, "end": second + 1, "bits_per_second": rate * 1e6}}
        for second, rate in enumerate(rates_mbps)
    ]
    goodput = sum(rates_mbps) / len(rates_mbps)
    received = {
        "bits_per_second": goodput * 1e6,
        "bytes": sum(rates_mbps) * 1e6 / 8,
        "seconds": len(rates_mbps),
    }
    client = {
        "start": {"connected": [{"local_port": port} for port in ports]},
        "intervals": intervals,
        "end": {"sum_received": received},
    }
    (run_dir / f"iperf3-client{name}.json").write_text(json.dumps(client))
    (run_dir / f"iperf3-server{name}.json").write_text(json.dumps({"intervals": intervals}))


UDP_START_S = 1735689602.25


def write_udp(
    run_dir: Path,
    *,
    packets: int,
    lost: int = 0,
    reordered: int = 0,
    jitter_ms: float = 0.0,
    name: str = "",
    start_s: float = 0.0,
    length_s: float = 10.0,
    rates_mbps: Sequence[float] = (),
) -> None:
    """Write udpflow's documents: of a sender that sent datagrams of 1,250 octets for 10 s.

    length_s: how long they arrived. rates_mbps: what the receiver got in each second.
    """
    received = packets - lost
    total = {
        **{"bytes": 1250 * received, "bits_per_second": 10_000.0 * received, "seconds": length_s},
        **{"packets": packets, "lost_packets": lost, "out_of_order": reordered},
        "jitter_ms": jitter_ms,
    }
    document = {
        "start": {"connected": [], "timestamp": {"timesecs": UDP_START_S + start_s}},
        "intervals": [],
        "end": {"sum_sent": {"seconds": 10.0}, "sum_received": total},
    }
    (run_dir / f"udpflow-client{name}.json").write_text(json.dumps(document))
    streams = [
        {"socket": 1, "end": end, "bytes": 125_000 * rate_mbps}
        for end, rate_mbps in enumerate(rates_mbps, start=1)
    ]
    received_over_time = {"intervals": [{"streams": [stream]} for stream in streams]}
    (run_dir / f"udpflow-server{name}.json").write_text(json.dumps(document | received_over_time))


def arriving(local: str, remote: str, rates_mbps: Sequence[float], from_ms: int = 0) -> list[str]:
    """Samples of a receiver, one per second, which receives data at these rates."""
    received = accumulate((round(rate * 1e6 / 8) for rate in rates_mbps), initial=0)
    return [
        tcp_row("sample", from_ms + 1000 * second, local, remote, bytes_received=octets)
        for second, octets in enumerate(received)
    ]


def write_airsim(path: Path, counters: Mapping[str, int]) -> None:
    path.write_text("".join(f"{name} {value}\n" for name, value in counters.items()))


def write_idle_air(run_dir: Path) -> None:
    """Without frames on the air in a run of write_run()."""
    counters = read_airsim(run_dir) | FATES
    write_airsim(run_dir / "airsim-before.txt", {})
    write_airsim(
        run_dir / "airsim-after.txt",
        {name: value for name, value in counters.items() if "ampdu" not in name},
    )


def write_run(run_dir: Path, *, goodput_mbps: float = 100.0) -> Path:
    """Write a download of 4 s whose metrics follow from the numbers below; returns run_dir."""
    run_dir.mkdir(parents=True)
    rates_mbps = [goodput_mbps - 30, *[goodput_mbps + 10] * 3]
    write_iperf3(run_dir, rates_mbps=rates_mbps)

    server, station = f"10.0.0.1:{DATA_PORT}", "10.0.0.2:5201"
    control = f"10.0.0.1:{CONTROL_PORT}"
    sent = {"segs_out": 1003, "data_segs_out": 1000, "retrans": 5}
    write_tcp(
        run_dir / "tcp-server.csv",
        [
            tcp_row("sample", 0, control, station, cwnd=999, srtt_us=999999),
            tcp_row("sample", 0, server, station, cwnd=10, srtt_us=0, ssthresh=0x7FFFFFFF),
            tcp_row("sample", 10, server, station, cwnd=20, srtt_us=10_000, ssthresh=0x7FFFFFFF),
            tcp_row("sample", 20, server, station, cwnd=30, srtt_us=20_000, ssthresh=50),
            tcp_row("sample", 30, server, station, cwnd=40, srtt_us=30_000, ssthresh=50),
            tcp_row("close", 40, server, station, cwnd=40, srtt_us=30_000, **sent),
        ],
    )
    received = {"segs_out": 500, "data_segs_out": 0, "data_segs_in": 995}
    received["bytes_received"] = sum(round(rate * 1e6 / 8) for rate in rates_mbps)
    write_tcp(
        run_dir / "tcp-station.csv",
        [
            *arriving(station, server, rates_mbps),
            tcp_row("close", 4040, station, server, cwnd=10, **received),
        ],
    )
    (run_dir / "ping.txt").write_text(
        "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
        + "".join(
            f"[1700000000.{n}] 64 bytes from 10.0.0.1: icmp_seq={n} ttl=64 time={n}.00 ms\n"
            for n in range(1, 6)
        )
    )
    write_airsim(
        run_dir / "airsim-before.txt",
        {"time_ns": START_NS - EPOCH_NS, "airtime_data_ns": 100, "ampdu_size_1": 7, "tx_retries": 3}
        | {"tx_dropped_retries": 5, "collisions": 2, "triggers": 1, "he_tb_ppdus": 1},
    )
    write_airsim(
        run_dir / "airsim-after.txt",
        {
            "time_ns": START_NS - EPOCH_NS + 4_000_000_000,
            "airtime_data_ns": 2_400_000_100,  # 60%
            "airtime_ack_ns": 800_000_000,  # 20%
            "airtime_other_ns": 40_000_000,  # 1%
            "airtime_collision_ns": 160_000_000,  # 4%
            "airtime_idle_ns": 600_000_000,  # 15%
            "tx_retries": 12,
            "ampdu_size_1": 17,  # 10 more than before
            "ampdu_size_20": 30,
            "collisions": 6,
            "triggers": 8,
            "he_tb_ppdus": 9,
            **FATES,
        },
    )
    return run_dir


def write_exchanges(run_dir: Path, times_ms: Sequence[float], ports: Sequence[int]) -> Path:
    """Rewrite a run as one of exchanges, divided equally among the receiver's ports.

    The receiver connects to port 5201 of the sender.
    """
    for path in run_dir.glob("iperf3-*.json"):
        path.unlink()
    (run_dir / "ping.txt").unlink()
    readdress(
        run_dir,
        {
            f"10.0.0.1:{CONTROL_PORT}": "10.0.0.1:5202",
            f"10.0.0.1:{DATA_PORT}": "10.0.0.1:5201",
            "10.0.0.2:5201": f"10.0.0.2:{DATA_PORT}",
        },
    )
    rows = [
        f"{ports[number * len(ports) // len(times_ms)]},{START_NS},{START_NS + round(ms * 1e6)}"
        for number, ms in enumerate(times_ms)
    ]
    (run_dir / "exchanges.csv").write_text("\n".join(["port,start_ns,end_ns", *rows, ""]))
    return run_dir


def readdress(run_dir: Path, ends: Mapping[str, str]) -> None:
    """Replace the ends of connections (address:port) in the CSV files."""
    for path in run_dir.glob("tcp-*.csv"):
        rows = [
            ",".join(ends.get(word, word) for word in row.split(","))
            for row in path.read_text().splitlines()
        ]
        path.write_text("\n".join([*rows, ""]))


def write_both(run_dir: Path, *, classes: Sequence[str] = ()) -> Path:
    """Write a download with an upload of 20 Mbit/s; with classes, one of each per class.

    All flows of a sender have the same source port.
    """
    write_run(run_dir)
    for path in run_dir.glob("iperf3-*.json"):
        path.unlink()
    rows: dict[str, list[str]] = {"server": [], "station": []}
    directions = (
        ("download", "server", "station", [70.0, 110.0, 110.0, 110.0]),
        ("upload", "station", "server", [20.0] * 4),
    )
    addresses = {"server": "10.0.0.1", "station": "10.0.0.2"}
    for number, service in enumerate(classes or [""]):
        for direction, sender, receiver, rates_mbps in directions:
            name = f"-{direction}-{service}" if service else f"-{direction}"
            write_iperf3(run_dir, rates_mbps=rates_mbps, name=name)
            local = f"{addresses[sender]}:{DATA_PORT}"
            remote = f"{addresses[receiver]}:{5201 + number}"
            sent = {"data_segs_out": 100, "segs_out": 100, "retrans": 1}
            rows[sender] += [
                tcp_row("sample", 0, local, remote, cwnd=10, srtt_us=5_000),
                tcp_row("close", 4040, local, remote, **sent),
            ]
            rows[receiver] += [
                *arriving(remote, local, rates_mbps),
                tcp_row("close", 4040, remote, local, segs_out=50, data_segs_in=100),
            ]
    for node, lines in rows.items():
        write_tcp(run_dir / f"tcp-{node}.csv", lines)
    return run_dir


def write_udp_ping(path: Path, rtts_ms: Sequence[float | None], interval_s: float = 0.2) -> None:
    """Write the output of udpecho; an RTT of None is a request without an answer."""
    rows = [
        f"{START_NS + round(number * interval_s * 1e9)},{'' if ms is None else round(ms * 1e6)}"
        for number, ms in enumerate(rtts_ms)
    ]
    path.write_text("\n".join(["sent_ns,rtt_ns", *rows, ""]))


def write_pages(run_dir: Path) -> Path:
    """Write two pages on the connection of a run: from 10 to 50 ms, and from 100 to 200 ms."""
    write_exchanges(run_dir, [1.0], [DATA_PORT])
    objects = ((10, 20, 1, 500), (20, 45, 1, 7000), (20, 50, 1, 9000), (100, 200, 2, 800))
    rows = [
        f"{DATA_PORT},{START_NS + begin * 10**6},{START_NS + end * 10**6},{page},{octets}"
        for begin, end, page, octets in objects
    ]
    (run_dir / "exchanges.csv").write_text(
        "\n".join(["port,start_ns,end_ns,page,bytes", *rows, ""])
    )
    (run_dir / "pages.txt").write_text("10000 10000 500 7000 9000\n50000 0 800\n")
    return run_dir
