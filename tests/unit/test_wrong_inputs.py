# SPDX-License-Identifier: GPL-2.0-only
"""200 wrong inputs: each gives one line, exit code 2 or 1, and changes no file."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fake_sweep
import pytest
from one_line import assert_one_line, refuse_builds, table
from small_experiment import GOOD
from small_hosts import YAML

from airtcp import cli
from airtcp.paths import REPOSITORY

# Lines of `arguments | a part of the message`. SWEEP is a finished sweep, OTHER one with other
# parameters; the other files are written by workshop().
RUN = """
run | run: the following arguments are required: EXPERIMENT (see airtcp run --he
run nope | unknown experiment 'nope'; allowed:
run thesis-lam | did you mean 'thesis-lan'?
run mine | did you mean 'mine.yaml'?
run nowhere.yaml | nowhere.yaml: No such file
run notes.txt | unknown experiment 'notes.txt'
run SWEEP | SWEEP: is a directory; give an experiment
run latin1.yaml | latin1.yaml
run loop.yaml | loop.yaml: Too many levels of symbolic links
run list.yaml | list.yaml:1: must consist of `key: value` lines; allowed keys: name title paper
run list.yaml --seeds 2 | reason compares published_duration quick_duration parameters
run thesis-lan more | unrecognized arguments: more
run thesis-lan --out '' | run: --out: '' is not a path
demo --out '' | demo: --out: '' is not a path
demo more | demo: unrecognized arguments: more
kernel import '' | kernel import: WHEEL: '' is not a path
run thesis-lan --seeds 0 | run: --seeds: '0' is not a positive integer (see
run thesis-lan --seeds -1 | --seeds: '-1' is not a positive integer
run thesis-lan --seeds 1.5 | --seeds: '1.5' is not a positive integer
run thesis-lan --seeds ٣ | --seeds: '٣' is not a positive integer
run thesis-lan --seed 3 | run: unrecognized arguments: --seed 3; did you mean '--seeds'?
run thesis-lan --seeds | --seeds: expected one argument
run thesis-lan --seeds=-- | --seeds: expected one argument
run thesis-lan --out=-- | --out: expected one argument
list -- -- x | list: unrecognized arguments: -- -- x
run thesis-lan --seeds 99999999999 | --seeds: '99999999999' is out of range; allowed: 1 to 1000000
run thesis-lan --metric godput_mbps | run: --metric: unknown metric 'godput_mbps'; did you mean
run thesis-lan --metric goodput_mbps --json | --metric: not allowed with --json
run all --quick --metric goodput_mbps | allows none of --set --duration --title --metric
run thesis-lan --jobs none | run: --jobs: 'none' is not a positive integer (see
run thesis-lan --quick --set delay=0ms | --quick: selects cases and their duration; not allowed
run thesis-lan --quick --duration 2s | --quick: selects cases and their duration; not allowed
run thesis-lan --quick --full | --full: not allowed with argument --quick
run thesis-lan --out | --out: expected one argument
run thesis-lan --out /dev/null | --out /dev/null: is a file; give a new or
run thesis-lan --out mine.yaml | --out mine.yaml: is a file
run thesis-lan --out mine.yaml/x | --out mine.yaml/x: Not a directory;
run thesis-lan --out /proc/nope | --out /proc/nope: No such file or dir
run thesis-lan --set | --set: expected one argument
run thesis-lan --set delay | --set delay: give values
run thesis-lan --set delay= | --set delay=: give values
run thesis-lan --set delay=1ms, | --set delay=1ms,: give values
run thesis-lan --set =1ms | --set =1ms: give a name and values, as in --set d
run thesis-lan --set dealy=1ms | unknown parameter 'dealy'; did you mean 'delay'? allowed:
run thesis-lan --set "delay =1ms" | unknown parameter 'delay '; did you mean 'delay'?
run thesis-lan --set DELAY=1ms | unknown parameter 'DELAY'; did you mean 'delay'?
run thesis-lan --set delay=1 | --set delay: '1' is not a duration
run thesis-lan --set delay=-1ms | --set delay: '-1ms' is not a duration, because it is negative
run thesis-lan --set "" | --set '': give a name and values
run thesis-lan --title "" | --title: '' is not allowed; give a value
run thesis-lan --set delay=1e3ms | --set delay: '1e3ms' is not a duration
run thesis-lan --set delay=10MS | did you mean '10ms'?
run thesis-lan --set delay=nan | --set delay: 'nan' is not a duration
run thesis-lan --set delay=1h | '1h' is not a duration; write a number and a unit (ns us ms s)
run thesis-lan --set delay=99s | --set delay: '99s' is out of range
run thesis-lan --set delay=1ms --set delay=2ms | --set delay: given twice
run thesis-lan --set rate=10mbit | did you mean '10Mbit'?
run thesis-lan --set rate=10Mbps | did you mean '10Mbit'?
run thesis-lan --set rate=fast | --set rate: 'fast' is not a rate
run thesis-lan --set rate=unlimitted | did you mean 'unlimited'?
run thesis-lan --set rate=0Mbit | --set rate: '0Mbit' is out of range
run thesis-lan --set tcp_rmem_max=64kb | --set tcp_rmem_max: '64kb' is not a size
run thesis-lan --set mcs=99 | --set mcs: '99' is out of range; allowed: 0 to 13
run thesis-lan --set mcs=15 | allowed: 0 to 13 (MCS 15 of 802.11n is mcs 7 with streams 2)
run thesis-lan --set mcs=seven | --set mcs: 'seven' is not a whole number
run thesis-lan --set mcs=9 | 9 is not allowed with 802.11n at 40MHz with streams 2
run thesis-lan --set snr=20dB | --set snr: 20dB is not allowed with error_model fixed; allowed: \
none; other values need error_model snr
run thesis-lan --set error_model=snr | snr needs one of snr distance walk
run thesis-lan --set error_model=noise | 'noise' is not allowed; allowed: fixed
run thesis-lan --set error_model=snr --set snr=20 | '20' is not a ratio of levels
run thesis-lan --set preset=ath9k | 'ath9k' is not allowed; allowed: generic ar9271 ar9580 \
ar5bhb116 qca6178 tl-wdr4300 tl-wdr4300-calibrated wifi-11a (real radio to model; it sets what is \
left at `preset` below. Drivers: ath9k (ar9580 ar5bhb116 tl-wdr4300),
run thesis-lan --set preset=generik | did you mean 'generic'?
run thesis-lan --set standard=wifi6 | --set standard: 'wifi6' is not allowed
run thesis-lan --set standard=802.11g | 36 is not allowed with 802.11g; allowed: 1 6 11
run thesis-lan --set channel=14 | allowed:
run thesis-lan --set width=80MHz | 80MHz is not allowed with 802.11n on channel 36
run thesis-lan --set sack=no | 'no' is not a switch
run thesis-lan --set ack_policy=add | 'add' is not allowed; did you mean 'aad'? allowed:
run thesis-lan --set ack_policy=fixed | 'fixed' is not allowed; allowed: default
run thesis-lan --set ack_count=0 | --set ack_count: '0' is out of range; allowed: 1 to 65535
run thesis-lan --set aad_beta=three | --set aad_beta: 'three' is not a number
run thesis-lan --set protocol=udp --set ack_policy=default,aad | ack_policy: aad is not allowed \
with protocol udp, which has no ACKs; allowed: default
run thesis-lan --set protocol=sctp | 'sctp' is not allowed; allowed: tcp udp
run thesis-lan --set congestion_control=vegas2 | 'vegas2' is not allowed
run thesis-lan --set workload=transfer | transfer needs transfer_size, as in 100000B
run thesis-lan --set workload=command | command needs command, as in ping
run thesis-lan --set workload=ftp | 'ftp' is not allowed; allowed: bulk
run thesis-lan --set pages=5 | other values need workload web
run thesis-lan --set direction=sideways | 'sideways' is not allowed
run thesis-lan --set capture=ap | 'ap' is not a capture point
run thesis-lan --set stations=65 | '65' is out of range; allowed: 1 to 64
run thesis-lan --set wire_loss=2 | --set wire_loss: '2' is out of range
run thesis-lan --set tsq=10 | --set tsq: '10' is not
run thesis-lan --duration 1s --set delay=600ms --set return_delay=400ms | ping_interval: no ping is
run thesis-lan --set distance=12 | --set distance: '12' is not a distance
run thesis-lan --set error_model=snr --set distance=130m | distance: 130m from the access point is
run thesis-lan --set error_model=snr --set walk=0s=5m/130m | walk: 130.1m from the access point is
run thesis-lan --set error_model=snr --set walk=5m | '5m' is not a time and a position
run thesis-lan --set error_model=snr --set walk=0s=5m,1s=1500m | too fast
run thesis-lan --set error_model=snr --set walk=0s=1500m,1s=5m | too fast
run thesis-lan --duration 9s --set start_interval=9s --set stations=3 | start after half of duration
run thesis-lan --set ping_interval=9ms | 9ms: ping does not send more often; allowed: 0ms, 10ms to
run thesis-lan --duration 2s --set baseline=9s --set ping_interval=3s | longer than duration
run thesis-lan --duration 2s --set udp_ping_interval=3s | longer than duration; allowed: 0ms, 2us
run thesis-lan --duration 2s --set udp_ping_interval=1us | more than 1000000 requests in 2s
run thesis-lan --duration | --duration: expected one argument
run thesis-lan --duration 10 | airtcp: --duration: '10' is not a duration;
run thesis-lan --duration '' | airtcp: --duration: '' is not a duration;
run thesis-lan --duration 0s | --duration: '0s' is out of range
run thesis-lan --duration -5s | --duration: '-5s' is not a duration
run thesis-lan --duration 1500ms | --duration: '1500ms' is not a whole number of seconds
run thesis-lan --duration 2d | --duration: '2d' is not a duration
run thesis-lan --duration 5s --set duration=3s | --duration and --set duration are both given: \
give only one
run thesis-lan --duration 5s,,3s | --duration: '' is not a duration
run thesis-lan --set ul_ofdma=on | on is not allowed with standard 802.11n; allowed: off; other
run ul-ofdma --set mu_edca=high | --set mu_edca: 'high' is not
run ul-ofdma --set ul_ofdma_interval=2s | --set ul_ofdma_interval: '2s' is out of range
run thesis-lan --set protection=rts | --set protection: 'rts' is not
run two-access-points --set stations=3 | --set stations=3: 3 is not allowed with a topology; \
allowed: 1
show two-access-points --set stations=3 --set mcs=5 | --set stations=3 mcs=5: stations: 3 is not \
allowed with a topology; allowed: 1
run thesis-lan --policy nowhere | --policy nowhere: not a directory
run thesis-lan --policy nowhere --policy own | --policy: given twice
run thesis-lan --policy mine.yaml | --policy mine.yaml: not a directory
run thesis-lan --policy empty | --policy empty: contains no Makefile
run thesis-lan --policy no-policy | no policy found: no C file has
run thesis-lan --policy taken-name | 'aad' is a name of the laboratory
run thesis-lan --policy long-name | is not a valid name; allowed: up to 15
run thesis-lan --kernel-source nowhere | --kernel-source nowhere: does not exist
run thesis-lan --kernel-source mine.yaml | --kernel-source mine.yaml: not a directory
run thesis-lan --kernel-source empty | empty: contains no Makefile
run thesis-lan --kernel-source linux-5 | linux-5: this is Linux 5.10.3
run thesis-lan --hosts '' | --hosts: '' is not a path
run thesis-lan --hosts nowhere | nowhere: No such file
run thesis-lan --hosts hosts.yaml --jobs 2 | --hosts: not allowed with --jobs
run thesis-lan --hosts hosts.yaml --cluster tcp://127.0.0.1:1 | --hosts: not allowed with --cluster
run thesis-lan --hosts hosts.yaml --certificates empty | --hosts: not allowed with --certificates
run thesis-lan --hosts hosts.yaml --policy own | --hosts: not allowed with --policy
run thesis-lan --hosts hosts.yaml --kernel-source linux | --hosts: not allowed with --kernel-source
run thesis-lan --set ack_policy=default --hosts hosts.yaml --plain | not allowed with --plain
run thesis-lan --cluster '' | --cluster: '' is not allowed; give a value
run thesis-lan --cluster nowhere | --cluster nowhere: No such file
run thesis-lan --cluster mine.yaml | mine.yaml: must have one section; allowed:
run thesis-lan --cluster tcp://192.0.2.1:8786 | is allowed only on this machine
run thesis-lan --cluster tls://192.0.2.1:8786 | needs the cluster's certificates
run thesis-lan --cluster ftp://127.0.0.1:1 | is not a scheduler's address
run thesis-lan --cluster tcp://127.0.0.1 | is not a scheduler's address
run mine.yaml --cluster x --kernel-source linux --kernel-source linux-6 | allowed with one --kernel
run thesis-lan --cluster tls://192.0.2.1:8786 --certificates nowhere | nowhere: nowhere/
run all | run all: requires --quick or --full
run all --quick --json | run all: requires --quick or --full
run all --full --set mcs=7 | run all: requires --quick or --full
run all --quick --title x | run all: requires --quick or --full
run all --quick --out /dev/null | --out /dev/null: is a file; give a
"""
OTHERS = """
 | the following arguments are required: COMMAND (see airtcp --help)
rn | COMMAND: 'rn' is not allowed; did you mean 'run'? allowed: run
--sets | the following arguments are required: COMMAND
fly now | 'fly' is not allowed; allowed: run
list nope | unrecognized arguments: nope
list --jsn | unrecognized arguments: --jsn; did you mean '--json'?
kernel build --arhc=um | unrecognized arguments: --arhc=um; did you mean '--arch'?
show | the following arguments are required: EXPERIMENT
show nope | unknown experiment 'nope'; allowed:
show "" | unknown experiment ''
show /dev/null | unknown experiment
show mine.yaml --set nothing=1 | unknown parameter 'nothing'
show mine.yaml --policy empty | contains no Makefile
show all | unknown experiment 'all'
new | the following arguments are required: NAME|PATH
new "" | new '': not a name; give NAME or the path of a file
new / | new '/': not a name
new .. | not a name
new mine.yaml | mine.yaml: already exists
new mine | mine.yaml: already exists
new Mine | 'Mine' is not a name; allowed: lower-case
new "two words" | 'two words' is not a name
new nowhere/mine | nowhere/mine.yaml: the directory nowhere does not exist
new thesis-lan | new thesis-lan: thesis-lan is an experiment of airtcp, and both would use \
results/thesis-lan; give another name
new one two | unrecognized arguments: two
schema nope | unrecognized arguments: nope
schema --policy nowhere | --policy nowhere: not a directory
tournament --entrants nobody | --entrants: 'nobody' is not allowed; allowed:
tournament --entrants "" | --entrants: '' is not allowed
tournament --conditions nope | --conditions: 'nope' is not allowed; allowed:
tournament --seeds 1 | --seeds 1: intervals need two seeds
tournament --seeds 99999999999 | --seeds: '99999999999' is out of range
tournament --seeds 0 | --seeds: '0' is not a positive integer
tournament --quick --full | --full: not allowed with argument --quick
tournament --out mine.yaml | --out mine.yaml: is a file
tournament --policy empty | contains no Makefile
tournament --kernel-source linux-6 | Linux 6.6.3; a tournament of ACK policies needs Linux 6.12.y
tournament thesis-lan | unrecognized arguments: thesis-lan
scheduler --port 0 | --port: '0' is not a port; allowed: 1 to 65535
scheduler --port 99999 | --port: '99999' is not a port
scheduler --port http | --port: 'http' is not a port
scheduler --host '' | --host: '' is not allowed; give a value
scheduler --host nowhere.invalid | nowhere.invalid: no such host
scheduler --host 0.0.0.0 | --certificates
scheduler --certificates empty | --certificates empty
scheduler --create-certificates SWEEP | --create-certificates SWEEP: already exists
scheduler --create-certificates mine.yaml/x | --create-certificates mine.yaml: Not a directory
scheduler --create-certificates mine.yaml | --create-certificates mine.yaml: already exists
worker | the following arguments are required: tls://HOST:PORT
worker foo | 'foo' is not a scheduler's address
worker tcp://127.0.0.1:0 | is not a scheduler's address
worker tcp://127.0.0.1:99999 | is not a scheduler's address
worker tls://127.0.0.1:8786 | needs the cluster's certificates
worker tcp://192.0.2.1:8786 | is allowed only on this machine
worker tcp://127.0.0.1:8786 --jobs 0 | --jobs: '0' is not a positive integer
kernel | kernel: the following arguments are required: COMMAND
kernel make | kernel: COMMAND: 'make' is not allowed; allowed: build path import series deb openwrt
kernel import | the following arguments are required: WHEEL
kernel import none.whl | none.whl: No such file or directory
kernel import notes.txt | notes.txt: cannot be read as a wheel
kernel build --arch arm | kernel build: --arch: 'arm' is not allowed; allowed: um x86_64
kernel build --policy empty | contains no Makefile
kernel build --policy own --arch x86_64 | --policy own: only for the laboratory's kernel
kernel build --kernel-source linux-5 | linux-5: this is Linux 5.10.3
kernel path --kernel-source nowhere | --kernel-source nowhere: does not exist
kernel path nowhere | unrecognized arguments: nowhere
kernel openwrt | the following arguments are required: DIR
kernel openwrt SWEEP | SWEEP already exists; give a new or empty directory
kernel openwrt mine.yaml/x | mine.yaml/x: Not a directory; give a directory that you can write
kernel series | the following arguments are required: DIR
kernel series SWEEP | SWEEP already exists; give a new or empty directory
kernel series mine.yaml | mine.yaml already exists
kernel series mine.yaml/x | mine.yaml/x: Not a directory; give a directory that you can write
kernel series new --topic tcp | --topic tcp does not exist; allowed: postable, research, wifi
kernel series new --topic lab | --topic lab is not for posting
kernel series new --author me | --author 'me': expected 'Name <name@example.org>'
kernel series new --kernel-source empty | empty: contains no Makefile
kernel deb --config nowhere | nowhere
kernel deb --out mine.yaml | --out mine.yaml: Not a directory; give a directory that you can write
kernel deb --kernel-source nowhere | --kernel-source nowhere: does not exist
shell | the following arguments are required: EXPERIMENT
shell nope | unknown experiment 'nope'
shell thesis-lan --set mcs=99 | --set mcs: '99' is out of range
exec thesis-lan | the following arguments are required: NODE, COMMAND
exec thesis-lan station | the following arguments are required: COMMAND
exec thesis-lan station ping -c 3 10.0.0.1 | arguments: -c 3 10.0.0.1; write -- before the command
exec thesis-lan station ls -h | arguments: -h; write -- before the command
exec thesis-lan --sed 2 station -- ls -l | arguments: --sed; did you mean '--seed'?
exec nope station -- true | unknown experiment 'nope'
exec thesis-lan statoin -- true | did you mean 'station'?
exec thesis-lan switch -- true | 'switch'
exec thesis-lan --seed 0 station -- true | --seed: '0' is not a positive integer
ui nowhere | nowhere: no such directory
ui --port 0 | port
ui notes.txt | notes.txt: no such directory
demo now | unrecognized arguments: now
doctor now | unrecognized arguments: now
completion | the following arguments are required: shell
completion csh | 'csh' is not allowed; did you mean 'zsh'? allowed: bash zsh fish
setup everything | 'everything'
"""
RESULTS = """
report | the following arguments are required: DIR
report nowhere | nowhere/results.json: No such file
report empty | empty/results.json: No such file
report mine.yaml | mine.yaml/results.json: Not a directory
report SWEEP OTHER | unrecognized arguments: OTHER
report SWEEP --timeline -1 | --timeline: '-1' is not a non-negative integer
report SWEEP --timeline soon | --timeline: 'soon' is not a non-negative integer
report SWEEP --timeline 12345678 | need a capture on the air
report SWEEP --run nope | nope
report SWEEP --run '' | --run: '' is not allowed; give a value
report SWEEP --run ../OTHER | ../OTHER
report SWEEP --index --published | --published: not allowed with argument --index
report SWEEP --index --figures | --index: no other option is allowed with it, only DIR
report SWEEP --index | SWEEP
report SWEEP --published | SWEEP: no directory in it has the results.json
report cut-json | results.json is not JSON, or truncated
report not-json | results.json is not JSON
report no-schema | results.json is not a document of airtcp: it has no schema
report newer | results.json is of schema 99
report edited | results.json has changed
report list-json | results.json is not a document of airtcp
results | results: the following arguments are required: COMMAND
results qery | results: COMMAND: 'qery' is not allowed; did you mean 'query'?
results query | the following arguments are required: SQL, DIR
results query "SELECT 1" | the following arguments are required: DIR
results query "SELECT 1" nowhere | nowhere/results.json: No such file
results query "" SWEEP | SQL: contains no statement
results query "SELECT 1; SELECT 2" SWEEP | SQL: contains 2 statements; give one
results query "SELECT 1" SWEEP SWEEP/. | is the same directory as
query "SELECT 1" SWEEP | 'query' is not allowed; did you mean 'results query'?
results query "SELEC 1" SWEEP | SQL: Parser Error
results query "SELECT goodput FROM runs" SWEEP | SQL: Binder Error
results query "SELECT * FROM run" SWEEP | SQL: Catalog Error
results query "COPY runs TO 'x.csv'" SWEEP | SQL: Permission Error
results query "SELECT * FROM 'mine.yaml'" SWEEP | SQL:
results query "ATTACH 'x.db'" SWEEP | SQL: Permission Error
results query "SET enable_external_access=true" SWEEP | SQL:
results query "SELECT 1" SWEEP --csv --json | --json: not allowed with argument --csv
results query "SELECT 1" cut-parquet | results.parquet has changed
results query "SELECT 1" no-parquet | results.parquet is missing
results query "SELECT 1" SWEEP cut-json | results.json is not JSON
results compare SWEEP | the following arguments are required: DIR2
results compare SWEEP nowhere | nowhere/results.json: No such file
results compare SWEEP OTHER | no run of SWEEP has the same parameters and seed
results compare SWEEP SWEEP --metric godput_mbps | did you mean 'goodput_mbps'?
results compare SWEEP cut-parquet | results.parquet has changed
results export | the following arguments are required: DIR
results export nowhere | nowhere/results.json: No such file
results export SWEEP OTHER | unrecognized arguments: OTHER
results export newer | results.json is of schema 99
"""

COMMANDS = [*table(RUN), *table(OTHERS), *table(RESULTS)]
MANY_DIGITS = "9" * 5000
LARGE = ["--seeds {}", "--jobs {}x", "--set mcs={}", "--set delay={}ms", "--set rts_threshold={}"]
SETUP = ["setup everything", "setup --no", "setup run --quick"]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the inputs name."""
    place = tmp_path_factory.mktemp("workshop")
    fake_sweep.write_sweep(place / "SWEEP", {(7, 1): 100.0, (7, 2): 101.0})
    fake_sweep.write_sweep(place / "OTHER", {(7, 1): 100.0}, delay="5ms")
    results = (place / "SWEEP" / "results.json").read_bytes()
    for name, content in {
        "cut-json": results[:-20],
        "not-json": b"\0\1\2",
        "no-schema": b"{}\n",
        "list-json": b"[]\n",
        "newer": b'{"schema": 99}',
        "edited": results.replace(b"101.0", b"999.0", 1),
    }.items():
        shutil.copytree(place / "SWEEP", place / name)
        (place / name / "results.json").write_bytes(content)
    for name in ("cut-parquet", "no-parquet"):
        shutil.copytree(place / "SWEEP", place / name)
    parquet = place / "cut-parquet" / "results.parquet"
    parquet.write_bytes(parquet.read_bytes()[:-9])
    (place / "no-parquet" / "results.parquet").unlink()
    for name, policy in (("no-policy", ""), ("taken-name", "aad"), ("long-name", "m" * 16), *OWN):
        (place / name).mkdir()
        (place / name / "Makefile").write_text("obj-m := x.o\n")
        text = f'MODULE_ALIAS_TCP_ACKPOL("{policy}");\n' if policy else "int x;\n"
        (place / name / "x.c").write_text(text)
    (place / "empty").mkdir()
    for name, version in (("linux-5", (5, 10)), ("linux-6", (6, 6)), ("linux", (6, 12))):
        (place / name).mkdir()
        makefile = "VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = 3\n".format(*version)
        (place / name / "Makefile").write_text(makefile)
    (place / "mine.yaml").write_text(GOOD)
    (place / "hosts.yaml").write_text(YAML % "on")
    (place / "notes.txt").write_text(GOOD)
    (place / "list.yaml").write_text("- name: small\n")
    (place / "loop.yaml").symlink_to("loop.yaml")
    (place / "latin1.yaml").write_bytes(GOOD.replace("small one", "sm\xe4ll one").encode("latin1"))
    return place


OWN = [("own", "own")]


@pytest.fixture(autouse=True)
def no_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_builds(monkeypatch)


def content(place: Path) -> dict[str, bytes]:
    """Files and directories. The index of verified runs may be written at any time."""
    paths = (path for path in place.rglob("*") if path.name != ".index")
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}


@pytest.fixture
def unchanged(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory with the files, in which nothing may change."""
    before = content(workshop)
    monkeypatch.chdir(workshop)
    yield workshop
    assert content(workshop) == before


@pytest.mark.parametrize(("given", "message"), COMMANDS, ids=lambda text: text)
def test_wrong_arguments_are_one_line(
    given: str, message: str, unchanged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.main(shlex.split(given))
    captured = capsys.readouterr()
    assert_one_line(code, captured.out, captured.err, message)


@pytest.mark.parametrize("options", LARGE)
def test_numbers_of_5000_digits_are_one_line(
    options: str, unchanged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python converts at most 4300 digits; no message says so."""
    code = cli.main(["run", "thesis-lan", *options.format(MANY_DIGITS).split()])
    captured = capsys.readouterr()
    err = captured.err.replace(MANY_DIGITS, "9...")
    assert_one_line(code, captured.out, err, "positive integer" if "x" in options else "range")


@pytest.mark.parametrize("given", SETUP)
def test_wrong_arguments_of_setup_are_one_line(given: str, unchanged: Path) -> None:
    """`./airtcp setup` is a shell script."""
    command = [str(REPOSITORY / "airtcp"), *given.split()]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_arguments_that_are_not_utf_8_are_one_line(unchanged: Path) -> None:
    command = [sys.executable, "-P", "-m", "airtcp", "report", os.fsdecode(b"SW\xffEEP")]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")}
    done = subprocess.run(command, env=environment, capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"airtcp: ") and done.stderr.count(b"\n") == 1


def test_at_least_200_inputs_are_tested() -> None:
    inputs = [given for given, _ in COMMANDS]
    assert len(set(inputs)) == len(inputs) >= 200
