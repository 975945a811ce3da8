# SPDX-License-Identifier: GPL-2.0-only
"""The pages of `airtcp ui`, over HTTP."""

import html
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from urllib.parse import quote, urlencode

import pytest
from fake_air import records, write_air
from fake_sweep import write_sweep
from small_report import write_results
from waiting import wait_until

from airtcp.errors import InputError
from airtcp.paths import REPOSITORY
from airtcp.report import model
from airtcp.results import documents
from airtcp.sweep import session
from airtcp.ui import pages
from airtcp.ui.server import ADDRESS, Server
from airtcp.ui.sweeps import Broken, Selection, Sweeps, select

GOODPUTS: dict[tuple[int, int], float | None] = {
    (mcs, seed): 10.0 * mcs + seed for mcs in (1, 2) for seed in (1, 2, 3)
}


def fail_first_run(directory: Path) -> None:
    document = documents.read(directory)
    failed = document.runs[0].model_copy(update={"status": "failed", "error": "why"})
    changed = document.model_copy(update={"runs": (failed, *document.runs[1:])})
    session.write_tables(directory, changed)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ui")
    write_sweep(root / "before", GOODPUTS)
    write_sweep(root / "after & more", {key: 2 * (value or 0) for key, value in GOODPUTS.items()})
    write_sweep(root / "failing", {(1, 1): None, (2, 1): 5.0})
    fail_first_run(root / "failing")
    write_results(root / "full")
    session.write_tables(root / "full", documents.read(root / "full"))
    (root / "full" / "report.html").write_text("the report")
    (root / "cut").mkdir()
    (root / "cut" / "results.json").write_text("{")
    (root / "link").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with Server(root) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def request(
    server: Server, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers; path: after the token, or absolute."""
    connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=60)
    headers = {"Host": host or server.host}
    full = path if path.startswith(("/", "http:")) else f"/{server.token}/{path}"
    connection.request(method, full, headers=headers)
    response = connection.getresponse()
    return response.status, response.read().decode(), dict(response.getheaders())


def show(server: Server, path: str, **query: str) -> str:
    status, body, _ = request(server, f"{path}?{urlencode(query)}")
    assert status == 200, body
    return html.unescape(body)


def rows(body: str) -> list[list[str]]:
    """The texts of the cells of each row of the table's body."""
    [table] = re.findall(r"<tbody.*?</tbody>", body, re.S)
    return [
        [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr>.*?</tr>", table, re.S)
    ]


def test_first_page_lists_sweeps_and_what_is_wrong_with_others(server: Server) -> None:
    shown = {row[0]: row[1:] for row in rows(show(server, ""))}
    assert shown.keys() == {"before", "after & more", "failing", "full", "cut"}
    assert shown["before"][1:4] == ["mcs", "6", ""]
    assert shown["failing"][2:4] == ["1", "1"]
    assert shown["full"][-1] == "report" and shown["before"][-1] == ""
    assert "results.json is not JSON" in shown["cut"][0]


def test_runs_are_filtered_ordered_and_paged(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def goodputs(**query: str) -> list[str]:
        return [row[-1] for row in rows(show(server, "sweep", sweep="before", **query))]

    assert goodputs() == ["11.00", "12.00", "13.00", "21.00", "22.00", "23.00"]
    assert goodputs(is_mcs="2") == ["21.00", "22.00", "23.00"]
    assert goodputs(where="goodput_mbps > 12 AND seed = 1 OR seed = 2") == [
        "12.00",
        "21.00",
        "22.00",
    ]
    assert goodputs(order="-goodput_mbps", is_mcs="1") == ["13.00", "12.00", "11.00"]
    assert goodputs(metrics="duration, seed")[0] == "10s"
    monkeypatch.setattr("airtcp.ui.sweeps.ROWS_PER_PAGE", 4)
    assert goodputs(page="2") == ["22.00", "23.00"]


def test_words_of_numeric_parameters_are_filtered(tmp_path: Path) -> None:
    write_sweep(tmp_path / "words", {(1, 1): 5.0}, ampdu_mpdus="preset", walk="none")
    sweep = Sweeps(tmp_path).get("words")
    for chosen, count in (
        ({"ampdu_mpdus": "preset"}, 1),
        ({"ampdu_mpdus": "16"}, 0),
        ({"walk": "none"}, 1),
    ):
        selection = Selection(chosen, "", ["goodput_mbps"], "", 1)
        assert select(sweep, selection, lambda _: None)[1] == count


def test_a_failed_run_without_files_has_no_directory_of_its_own(root: Path) -> None:
    run = documents.read(root / "failing").runs[0]
    assert run.model_copy(update={"artifacts": {}}).directory(root) == root / "runs"


def test_failed_runs_are_listed_without_a_link(server: Server) -> None:
    body = show(server, "sweep", sweep="failing")
    assert [row[3] for row in rows(body)] == ["failed", "ok"]
    assert body.count(f"/{server.token}/run?") == 1


def test_a_run_has_metrics_parameters_figures_and_files(server: Server) -> None:
    body = show(server, "run", sweep="full", run="aad_0ms/seed-2")
    assert "goodput_mbps" in body and "112.2" in body
    assert "Congestion window, RTT and goodput over time" in body and "<svg" in body
    assert "Timelines of the medium need a capture on the air" in body
    assert re.search(r">ack_policy</th>\s*<td[^>]*>aad<", body)
    name = f"file/{quote('full')}/runs/aad_0ms/seed-2/ping.txt"
    assert f"/{server.token}/{name}" in body
    status, text, headers = request(server, name)
    assert status == 200 and "ttl=64" in text and headers["Content-Type"].startswith("text/plain")


def test_a_time_after_the_end_of_the_capture_has_a_way_back(tmp_path: Path) -> None:
    write_results(tmp_path / "full")
    write_air(tmp_path / "full" / "runs" / "aad_0ms" / "seed-1", records())
    given = {"sweep": "full", "run": "aad_0ms/seed-1", "at": "99"}
    body = pages.page(Sweeps(tmp_path), "", "run", given).body.decode()
    assert "contains 60.0 ms" in body
    assert 'name="at" inputmode="numeric" pattern="[0-9]+" size="8" value="99"' in body
    assert "&amp;at=49" in body


def test_a_run_whose_files_were_removed_has_metrics(tmp_path: Path) -> None:
    write_results(tmp_path / "full")
    shutil.rmtree(tmp_path / "full" / "runs")
    given = {"sweep": "full", "run": "aad_0ms/seed-2"}
    body = pages.page(Sweeps(tmp_path), "", "run", given).body.decode()
    assert "112.2" in body and "tcp-server.csv: No such file" in body


def test_two_sweeps_are_compared_by_pairs(server: Server) -> None:
    body = show(server, "compare", first="before", second="after & more")
    [first, second] = rows(body)
    assert first[1:6] == ["goodput_mbps", "3", "12.00", "24.00", "2.00"]
    assert second[1:6] == ["goodput_mbps", "3", "22.00", "44.00", "2.00"]
    body = show(server, "compare", first="before", second="full")
    assert "No run of one has the same parameters and seed" in body and "mcs (" in body


def test_sweeps_that_have_no_combination_in_common_say_so(tmp_path: Path) -> None:
    write_sweep(tmp_path / "first", {(1, 1): 5.0, (2, 2): 5.0})
    write_sweep(tmp_path / "second", {(1, 2): 5.0, (2, 1): 5.0})
    body = pages.page(Sweeps(tmp_path), "", "compare", {"first": "first", "second": "second"})
    assert b"they differ in\n  combinations of parameters and seeds." in body.body


def test_damaged_runs_are_named_where_they_are_left_out(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_sweep(tmp_path / name, {(1, 1): 5.0, (1, 2): 5.0})
    sweeps = Sweeps(tmp_path)
    [one, other] = (tmp_path / "first").glob("runs/*/*/ping.txt")
    one.write_text("another\n")
    text = f"Left out: {one.parent}: ping.txt has changed"
    given = {"sweep": "first", "first": "first", "second": "second"}
    for name in ("sweep", "compare"):
        assert text in pages.page(sweeps, "", name, given).body.decode()
    other.write_text("another\n")
    body = pages.page(sweeps, "", "compare", given).body.decode()
    assert "There is no undamaged run to compare" in body and "they differ" not in body


@pytest.mark.parametrize("wrong", [{"where": "oops > '1'"}, {"metrics": "speed"}])
def test_a_form_with_a_mistake_keeps_its_contents(server: Server, wrong: dict[str, str]) -> None:
    given = {"sweep": "before", "is_mcs": "2", "metrics": "goodput_mbps", "where": "seed > 1"}
    _, body, _ = request(server, f"sweep?{urlencode(given | wrong)}")
    shown = html.unescape(body)
    assert "<option selected>2</option>" in shown
    for name in ("metrics", "where"):
        assert f'name="{name}" value="{(given | wrong)[name]}"' in shown


def test_the_form_of_a_comparison_keeps_a_wrong_metric(server: Server) -> None:
    given = {"first": "before", "second": "after & more", "metrics": "acks_sent speed"}
    status, body, _ = request(server, f"compare?{urlencode(given)}")
    shown = html.unescape(body)
    assert status == 400 and "unknown metric 'speed'; allowed:" in shown
    assert 'name="metrics" value="acks_sent speed"' in shown and "--metric" not in shown


def test_a_comparison_of_few_runs_has_a_note(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_sweep(tmp_path / name, {(1, 1): 5.0, (1, 2): 6.0})
    given = {"first": "one", "second": "two"}
    body = pages.page(Sweeps(tmp_path), "", "compare", given).body.decode()
    assert "with two runs the 95% interval is" in body and "--seeds" not in body


def test_a_run_without_bulk_data_has_no_figure_over_time(tmp_path: Path) -> None:
    write_sweep(tmp_path / "rr", {(1, 1): 5.0}, workload="request_response")
    given = {"sweep": "rr", "run": "mcs-1/seed-1", "at": "7"}
    body = pages.page(Sweeps(tmp_path), "", "run", given).body.decode()
    assert "goodput over time: available only for the workload bulk over TCP." in body
    assert "need a capture on the air" in body and "--timeline" not in body


def test_sweeps_further_down_are_mentioned(server: Server) -> None:
    assert "Sweeps more than two directories below are not listed" in show(server, "")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nonsense", "nonsense: no such page"),
        ("sweep?sweep=none", "none: no such sweep"),
        ("sweep?sweep=../../etc", "no such sweep"),
        ("sweep?sweep=cut", "results.json is not JSON"),
        ("sweep?sweep=before&where=oops", "SQL: "),
        ("sweep?sweep=before&where=1=1);COPY+runs+TO+'/tmp/x'--", "SQL: "),
        ("sweep?sweep=before&metrics=speed", "speed: no such column"),
        ("sweep?sweep=before&order=speed", "speed: no such column"),
        ("sweep?sweep=before&page=-1", "page=-1: not a whole number"),
        (f"sweep?sweep=before&page={'9' * 5000}", ": not a whole number of at most 9 digits"),
        ("run?sweep=before&run=x", "x: no such finished run"),
        ("compare?first=before", "no such sweep"),
        ("compare?first=before&second=failing&metrics=speed", "speed"),
        ("file/link/passwd", "no such file"),
        ("file/../../../../etc/passwd", "no such file"),
        ("file/before", "no such file"),
        ("file/%00", "null byte"),
        (f"file/{'x' * 300}", "File name too long"),
        ("file/loop", "loop"),
        ("sweep?sweep=loop", "loop"),
    ],
)
def test_problems_are_reported_in_one_line(server: Server, path: str, message: str) -> None:
    status, body, _ = request(server, path)
    [text] = re.findall(r'<p class="failed">(.*?)</p>', body, re.S)
    assert status == 400 and message in html.unescape(text) and "\n" not in text


def test_only_the_url_with_the_token_is_answered(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    token = server.token
    for path in ("/", "/favicon.ico", f"/{token[:-1]}/", f"/{token}x/", f"http://[/{token}/"):
        assert request(server, path)[0] == 404
    # Another site could have a name that resolves to this address.
    assert request(server, "", host=f"localhost.example:{server.server_port}")[0] == 404
    for method in ("POST", "PUT", "DELETE"):
        assert request(server, "", method=method)[0] == 501
    status, body, headers = request(server, "", method="HEAD")
    assert (status, body) == (200, "") and int(headers["Content-Length"]) > 0
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_closed_connection_is_no_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "large.txt").write_bytes(bytes(20_000_000))
    with Server(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with socket.create_connection((ADDRESS, server.server_port)) as browser:
            path = f"/{server.token}/file/large.txt"
            browser.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
            assert browser.recv(8) == b"HTTP/1.0"
        server.shutdown()
        thread.join()
    wait_until(lambda: not any("process_request" in each.name for each in threading.enumerate()))
    assert capfd.readouterr().err == ""


def test_changed_results_are_read_again(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.sweeps.all() == []
        write_sweep(tmp_path / "new", {(1, 1): 1.0})
        assert server.sweeps.get("new").finished == 1
        (tmp_path / "new" / "results.json").write_text("{")
        with pytest.raises(InputError, match="not JSON"):
            server.sweeps.get("new")


@pytest.mark.parametrize("reader", [documents, model], ids=["documents", "results"])
def test_threads_read_a_sweep_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, reader: ModuleType
) -> None:
    name = {documents: "read", model: "load"}[reader]
    read, entered = getattr(reader, name), threading.Barrier(2)

    def together(directory: Path) -> object:
        with suppress(threading.BrokenBarrierError):
            entered.wait(0.3)
            pytest.fail("two threads read it")
        return read(directory)

    sweeps, sweep = Sweeps(root), Sweeps(root).get("full")
    monkeypatch.setattr(reader, name, together)
    use = partial(sweeps.results, sweep) if reader is model else partial(sweeps.get, "full")
    with ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(use) for _ in range(2))
        assert first.result() == second.result()


def test_results_that_are_removed_meanwhile_are_a_problem_of_their_sweep(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "glob", lambda root, _pattern: [root / "gone" / "results.json"])
    [gone] = Sweeps(root).all()
    assert gone.name == "gone" and isinstance(gone, Broken)
    assert "No such file" in gone.problem


def test_ctrl_c_ends_it_and_a_taken_port_is_an_error(root: Path, server: Server) -> None:
    command = [sys.executable, "-P", "-m", "airtcp", "ui", str(root)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")}
    taken = subprocess.run(
        [*command, "--port", str(server.server_port)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert taken.returncode == 2
    assert taken.stderr == f"airtcp: --port {server.server_port}: Address already in use\n"
    running = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\S{32}/\n", running.stdout.readline())
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in errors


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such directory"):
        Server(tmp_path / "none")
