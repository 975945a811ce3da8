# SPDX-License-Identifier: GPL-2.0-only
"""Plans: radios, hostapd, errors and movement."""

import itertools

import pytest
from plans import check_shell, commands, planned, section, text
from pydantic import ValidationError

from airtcp.backends import shell
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps import step
from airtcp.steps.wifi import hostapd_conf, radio_keys


def keys(**values: Plain) -> dict[str, str]:
    """The arguments of `airsim radio add`, by key."""
    words = radio_keys(Parameters().replace(values)).split()
    return dict(zip(words[::2], words[1::2], strict=True))


def test_stations_and_the_access_point_have_a_radio_each() -> None:
    plan = planned(stations=2, width="40MHz")
    assert text(plan).count("must airsim radio add preset generic standard") == 3
    assert "must iw phy phy0 set netns name ap" in text(plan)
    assert "must iw phy phy2 set netns name station2" in text(plan)


def added(plan: str) -> list[str]:
    """The arguments of each `airsim radio add`."""
    return [line.partition("radio add ")[2] for line in plan.splitlines() if "radio add" in line]


def test_stations_with_their_own_preset_do_not_have_the_settings_of_the_access_point() -> None:
    settings: dict[str, Plain] = {"txq_limit": 100, "coalesce": "1ms", "mpdu_spacing": "4us"}
    shared: dict[str, Plain] = {"streams": 2, "rts_threshold": 1000}
    plan = text(planned(preset="ar9580", station_preset="qca6178", **settings, **shared))
    [one, _] = added(text(planned(preset="ar9580", **settings, **shared)))
    [_, other] = added(text(planned(preset="qca6178", **shared)))
    assert added(plan) == [one, other]
    assert "phy0 set txq limit 100" in plan and "phy1 set txq limit" not in plan
    assert "phy0 set rts 1000" in plan and "phy1 set rts 1000" in plan


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ({"mcs": 7}, "ht 7 1 20 800"),
        ({"mcs": 5, "streams": 2, "guard_interval": "400ns", "width": "40MHz"}, "ht 5 2 40 400"),
        ({"standard": "802.11ac", "mcs": 9, "width": "80MHz"}, "vht 9 1 80 800"),
        ({"standard": "802.11ax", "mcs": 11, "guard_interval": "3200ns"}, "he 11 1 20 3200"),
        ({"standard": "802.11be", "mcs": 13, "width": "160MHz"}, "eht 13 1 160 800"),
    ],
)
def test_the_radios_are_pinned_to_one_rate(values: dict[str, Plain], rate: str) -> None:
    arguments = keys(**values)
    names = ("format", "mcs", "streams", "width_mhz", "gi_ns")
    assert " ".join(arguments[f"rate_{name}"] for name in names) == rate


def test_legacy_radios_are_pinned_to_a_legacy_rate() -> None:
    arguments = keys(standard="802.11a", legacy_rate="24Mbit", preset="wifi-11a")
    assert arguments["rate_format"] == "ofdm" and arguments["rate_legacy_kbps"] == "24000"
    assert arguments["ba_window"] == "1" and "rate_mcs" not in arguments


def test_rate_control_is_left_to_minstrel() -> None:
    assert not [key for key in keys(rate_control="minstrel") if key.startswith("rate_")]


@pytest.mark.parametrize(
    ("standard", "highest"), [("802.11n", "7"), ("802.11ac", "8"), ("802.11ax", "11")]
)
def test_ideal_rates_are_chosen_up_to_the_highest(standard: str, highest: str) -> None:
    snr = {"error_model": "snr", "snr": "20dB"}
    arguments = keys(**snr, standard=standard, mcs=3, streams=2, rate_control="ideal")
    assert arguments["rate_ideal"] == "on" and arguments["rate_streams"] == "2"
    assert arguments["rate_mcs"] == highest
    assert "rate_ideal" not in keys(**snr, standard=standard, mcs=3)


def test_values_of_the_preset_are_not_passed() -> None:
    defaults = keys(preset="qca6178")
    assert set(defaults) == {
        *("preset", "standard", "streams", "width_mhz", "ba_window", "gro_flush_us"),
        *("rate_format", "rate_mcs", "rate_streams", "rate_width_mhz", "rate_gi_ns"),
    }
    values: dict[str, Plain] = {
        **{"ampdu_mpdus": 16, "ampdu_bytes": 8191, "ampdu_duration": "1ms", "queue": "fifo"},
        **{"block_ack_request": "off", "fifo_mpdus": 99, "rx_delivery": "coalesced", "amsdu": "on"},
        **{"coalesce_mpdus": 8, "coalesce": "2ms", "mpdu_spacing": "0.25us"},
        "codel_target": "5ms",
    }
    arguments = keys(**values)
    assert {key: arguments[key] for key in set(arguments) - set(defaults)} == {
        **{"ampdu_mpdus": "16", "ampdu_octets": "8191", "ampdu_duration_us": "1000"},
        **{"queueing": "fifo", "fifo_mpdus": "99", "bar": "off", "amsdu": "on"},
        **{"rx_delivery": "coalesced", "coalesce_mpdus": "8", "coalesce_us": "2000"},
        **{"mpdu_spacing_ns": "250", "codel_target_us": "5000"},
    }


def test_capture_is_passed_with_snr_only() -> None:
    snr = {"error_model": "snr", "distance": "5m"}
    assert keys(**snr, capture_effect="on")["capture"] == "on"
    assert "capture" not in keys(**snr)
    with pytest.raises(ValidationError, match="other values need error_model snr"):
        keys(capture_effect="on")


def test_protection_is_passed_if_given() -> None:
    assert keys(protection="cts-to-self")["protection"] == "cts-to-self"
    # 802.11a has nothing to protect; a station of it may have the setting of its cell.
    legacy = keys(standard="802.11a", preset="wifi-11a", protection="rts-cts")
    assert legacy["protection"] == "rts-cts"
    assert "protection" not in keys()
    with pytest.raises(ValidationError, match="'rts-cts', 'cts-to-self' or 'preset'"):
        keys(protection="cts")


def test_retry_limit_is_passed_if_given() -> None:
    assert keys(preset="ar9580", retry_limit=7)["retry_limit"] == "7"
    assert "retry_limit" not in keys(preset="ar9580")
    with pytest.raises(ValidationError, match="1 to 31 or 'preset'"):
        keys(retry_limit=32)


def test_completion_and_hardware_queues_are_passed_if_given() -> None:
    arguments = keys(preset="ar9580", formed_singles=8, completion="300us")
    assert arguments["formed_singles"] == "8" and arguments["completion_us"] == "300"
    assert not {"formed_singles", "completion_us", "txq_limit"} & set(keys(preset="ar9580"))
    with pytest.raises(ValidationError, match="8 is not allowed with formed_ppdus 0"):
        keys(formed_ppdus=0, formed_singles=8)


def test_only_stations_save_power_and_scan() -> None:
    plan = planned(power_save="on", scan_interval="30s", stations=2)
    adds = [line for line in text(plan).splitlines() if "radio add" in line]
    assert ["power_save on" in line for line in adds] == [False, True, True]
    assert text(plan).count("must iw dev wlan0 set power_save on") == 2
    scan = "while sleep 30; do iw dev wlan0 scan >/dev/null 2>&1 || :; done"
    assert text(plan).count(scan) == 2
    assert "wlan0 scan >" not in text(planned()) and "power_save off" in text(planned())


def test_formed_ppdus_are_passed_if_given() -> None:
    assert keys(preset="ar9580", formed_ppdus=0)["formed_ppdus"] == "0"
    assert "formed_ppdus" not in keys(preset="ar9580")


def test_radios_of_5_ghz_are_wide_enough_for_mac80211() -> None:
    assert keys(standard="802.11ac")["width_mhz"] == "80"
    assert keys(standard="802.11ax", width="160MHz")["width_mhz"] == "160"
    assert keys(standard="802.11ax", channel=6)["width_mhz"] == "20"
    assert keys(standard="802.11be")["width_mhz"] == "80"
    assert keys()["width_mhz"] == "20"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"standard": "802.11a"}, ["hw_mode=a", "channel=36"]),
        ({"standard": "802.11g", "channel": 6}, ["hw_mode=g", "channel=6"]),
        ({}, ["hw_mode=a", "channel=36", "ieee80211n=1", "ht_capab="]),
        (
            {"width": "40MHz", "guard_interval": "400ns"},
            [
                *("hw_mode=a", "channel=36", "ieee80211n=1"),
                "ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]",
            ],
        ),
        (
            {"standard": "802.11ac", "width": "80MHz", "channel": 157, "guard_interval": "400ns"},
            [
                *("hw_mode=a", "channel=157", "ieee80211n=1"),
                "ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]",
                *("ieee80211ac=1", "vht_capab=[MAX-A-MPDU-LEN-EXP7][SHORT-GI-80]"),
                *("vht_oper_chwidth=1", "vht_oper_centr_freq_seg0_idx=155"),
            ],
        ),
        (
            {"standard": "802.11ax", "width": "160MHz", "channel": 44},
            [
                *("hw_mode=a", "channel=44", "ieee80211n=1", "ht_capab=[HT40+]"),
                *("ieee80211ac=1", "vht_capab=[MAX-A-MPDU-LEN-EXP7][VHT160]"),
                *("vht_oper_chwidth=2", "vht_oper_centr_freq_seg0_idx=50"),
                *("ieee80211ax=1", "he_oper_chwidth=2", "he_oper_centr_freq_seg0_idx=50"),
            ],
        ),
        (
            {"standard": "802.11ax", "channel": 1},
            [
                *("hw_mode=g", "channel=1", "ieee80211n=1", "ht_capab=", "ieee80211ax=1"),
                *("he_oper_chwidth=0", "he_oper_centr_freq_seg0_idx=0"),
            ],
        ),
        (
            {"standard": "802.11be", "width": "80MHz", "channel": 149},
            [
                *("hw_mode=a", "channel=149", "ieee80211n=1", "ht_capab=[HT40+]"),
                *("ieee80211ac=1", "vht_capab=[MAX-A-MPDU-LEN-EXP7]"),
                *("vht_oper_chwidth=1", "vht_oper_centr_freq_seg0_idx=155"),
                *("ieee80211ax=1", "he_oper_chwidth=1", "he_oper_centr_freq_seg0_idx=155"),
                *("ieee80211be=1", "eht_oper_chwidth=1", "eht_oper_centr_freq_seg0_idx=155"),
            ],
        ),
        (
            {"standard": "802.11be", "width": "320MHz", "channel": 37},
            [
                *("hw_mode=a", "channel=37", "op_class=137", "he_6ghz_max_mpdu=0"),
                *("wpa=2", "wpa_key_mgmt=SAE", "rsn_pairwise=CCMP", "ieee80211w=2", "sae_pwe=1"),
                "sae_password=laboratory",
                *("ieee80211ax=1", "he_oper_chwidth=2", "he_oper_centr_freq_seg0_idx=47"),
                *("ieee80211be=1", "eht_oper_chwidth=9", "eht_oper_centr_freq_seg0_idx=31"),
            ],
        ),
        (
            {"standard": "802.11be", "width": "40MHz", "channel": 101, "amsdu": "on"},
            [
                *("hw_mode=a", "channel=101", "op_class=132", "he_6ghz_max_mpdu=2"),
                *("wpa=2", "wpa_key_mgmt=SAE", "rsn_pairwise=CCMP", "ieee80211w=2", "sae_pwe=1"),
                "sae_password=laboratory",
                *("ieee80211ax=1", "he_oper_chwidth=0", "he_oper_centr_freq_seg0_idx=99"),
                *("ieee80211be=1", "eht_oper_chwidth=0", "eht_oper_centr_freq_seg0_idx=99"),
            ],
        ),
    ],
)
def test_hostapd_conf_of_each_standard(values: dict[str, Plain], expected: list[str]) -> None:
    common = ["interface=wlan0", "bridge=br0", "driver=nl80211", "ssid=x"]
    conf = hostapd_conf(Parameters().replace(values), ssid="x")
    assert conf.splitlines() == [*common, *expected, "wmm_enabled=1"]


def test_minstrel_can_use_the_short_guard_interval() -> None:
    conf = hostapd_conf(
        Parameters().replace({"rate_control": "minstrel", "width": "40MHz"}), ssid="x"
    )
    assert "ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]" in conf


@pytest.mark.parametrize(("channel", "mhz"), [(36, 5180), (157, 5785), (1, 2412), (11, 2462)])
def test_the_stations_scan_one_frequency(channel: int, mhz: int) -> None:
    assert f"\nassociate wlan0 airtcp {mhz} 30\n" in text(planned(channel=channel))


def test_stations_at_6_ghz_associate_by_wpa_supplicant() -> None:
    plan = planned(standard="802.11be", width="320MHz", channel=37, stations=2)
    script = shell.render(plan)
    assert "associate wlan0" not in script
    started = "wpa_supplicant -B -i wlan0 -D nl80211 -c /tmp/wpa_supplicant-airtcp.conf"
    assert [line for line in commands(plan) if started in line] == [f"must {started}"] * 2
    carriers = script.count("carrier wlan0 30 the station is associated")
    assert carriers == 2 and script.rindex(started) < script.index("carrier wlan0 30")
    [conf] = [part for part in plan if isinstance(part, step.WriteFile) and "wpa" in part.path]
    assert conf.text == (
        'sae_pwe=1\nnetwork={\n\tssid="airtcp"\n\tkey_mgmt=SAE\n\tpairwise=CCMP\n'
        '\tieee80211w=2\n\tsae_password="laboratory"\n\tscan_freq=6135\n}\n'
    )
    check_shell(plan, ["server", "ap", "station2"])


def _pings(block: step.In) -> bool:
    return any(isinstance(part, step.Run) and part.argv[0] == "ping" for part in block.steps)


def after_warm_up(**values: Plain) -> list[str]:
    """The commands of airsim after the stations have associated."""
    plan = planned(**values)
    joined = max(n for n, part in enumerate(plan) if isinstance(part, step.In) and _pings(part))
    parts = itertools.takewhile(lambda part: not isinstance(part, step.Instrument), plan[joined:])
    runs = (part for part in parts if isinstance(part, step.Run))
    return [" ".join(run.argv[1:]) for run in runs if run.argv[0] == "airsim"]


def test_errors_on_the_air_start_after_the_warm_up() -> None:
    plan = planned(error_rate=0.1, response_error_rate=0.01, stations=2)
    assert "error_ppm" not in text(plan).rpartition("ping -nq")[0]
    assert after_warm_up(error_rate=0.1, response_error_rate=0.01, stations=2) == [
        f"radio set {radio} errors fixed mpdu_error_ppm 100000 response_error_ppm 10000"
        for radio in (0, 1, 2)
    ]


def test_bursts_have_four_probabilities() -> None:
    probabilities = {"burst_enter": 0.01, "burst_leave": 0.2, "burst_good_error": 0.001}
    assert after_warm_up(error_model="burst", **probabilities)[0] == (
        "radio set 0 errors burst burst_enter_ppm 10000 burst_leave_ppm 200000 "
        "burst_good_error_ppm 1000 burst_bad_error_ppm 1000000 response_error_ppm 0"
    )


@pytest.mark.parametrize(
    ("width", "loss_mdb"),
    # 20 dBm minus noise (-174 dBm/Hz plus 73.01 or 82.04 dB for 20 or 160 MHz, plus a noise figure
    # of 7 dB) minus an SNR of 25 dB.
    [("20MHz", 88990), ("160MHz", 79959)],
)
def test_an_snr_is_a_path_loss_in_both_directions(width: str, loss_mdb: int) -> None:
    values: dict[str, Plain] = {"standard": "802.11ac", "width": width, "stations": 2}
    assert after_warm_up(error_model="snr", snr="25dB", **values) == [
        *(f"link set {link} loss_mdb {loss_mdb}" for link in ("0 1", "1 0", "0 2", "2 0")),
        *(f"radio set {radio} errors snr" for radio in (0, 1, 2)),
    ]


def test_a_distance_sets_the_positions_of_radios() -> None:
    sent = after_warm_up(error_model="snr", distance="12.5m", path_loss_exponent=3.5)
    assert sent == [
        "air set path_loss_exponent_milli 3500",
        *("radio set 0 x_mm 0 y_mm 0", "radio set 1 x_mm 12500 y_mm 0"),
        *("radio set 0 errors snr", "radio set 1 errors snr"),
    ]
    assert after_warm_up(error_model="snr", snr="5dB", cca_threshold="-95dBm")[0] == (
        "air set cca_threshold_mdbm -95000"
    )


def test_fading_starts_with_the_errors() -> None:
    snr = {"error_model": "snr", "distance": "10m"}
    assert after_warm_up(**snr, fading="rayleigh", doppler="0.5Hz")[2:] == [
        "air set doppler_millihz 500",
        *("radio set 0 errors snr", "radio set 1 errors snr"),
    ]
    # 10^(6 / 10)
    sent = after_warm_up(**snr, fading="rician", rician_k="6dB")
    assert sent[2] == "air set doppler_millihz 6000 rician_k_milli 3981"
    assert not any("doppler" in line for line in after_warm_up(**snr))


def test_a_walk_starts_and_ends_with_the_transfer() -> None:
    plan = planned(error_model="snr", walk="0s=5m,10s=40m,20s=5.5m")
    assert step.run("airsim radio set 1 x_mm 5000 y_mm 0") in plan
    walk = step.Start(
        [
            step.run("airsim radio set 1 x_mm 5000 y_mm 0 vx_mm_per_s 3500 vy_mm_per_s 0"),
            step.Sleep(10),
            step.run("airsim radio set 1 x_mm 40000 y_mm 0 vx_mm_per_s -3450 vy_mm_per_s 0"),
            step.Sleep(10),
            step.run("airsim radio set 1 x_mm 5500 y_mm 0 vx_mm_per_s 0 vy_mm_per_s 0"),
        ],
        "events",
        only=True,
    )
    [sender] = [n for n, part in enumerate(plan) if isinstance(part, step.Run) and part.blocking]
    assert (
        plan.index(walk)
        < sender
        < plan.index(step.Cancel("events", "a change or a move failed: see the console"))
    )
    assert "events" not in text(planned(error_model="snr", distance="5m"))


@pytest.mark.parametrize(
    ("values", "leaves"),
    [
        ({"walk": "0s=5m,10s=129m,20s=5m"}, False),  # -89.995 dBm
        ({"walk": "0s=5m,10s=130m,20s=5m"}, True),
        ({"walk": "0s=5m,10s=130m", "path_loss_exponent": 2}, False),
        ({"walk": "0s=5m,10s=125m", "cca_threshold": "-85dBm"}, True),
        ({"walk": "0s=5m,10s=145m", "cca_threshold": "-100dBm"}, False),
        ({"walk": "0s=5m,10s=155m", "cca_threshold": "-100dBm"}, True),  # the noise: -94 dBm
        ({"walk": "0s=5m,10s=130m", "tx_power": "20.1dBm"}, False),
        ({"walk": "0s=5m,10s=60.2m", "tx_power": "10dBm"}, True),  # -90.07 dBm
        ({"snr": "20dB", "fading": "rayleigh"}, True),
        ({"snr": "20dB"}, False),
    ],
)
def test_a_station_that_leaves_returns(values: dict[str, Plain], leaves: bool) -> None:
    plan = planned(error_model="snr", stations=2, **values)
    for node in ("station", "station2"):
        assert (f"start node {node} sh -c 'while sleep 0.5; do case" in text(plan)) == leaves
    queues = [item for item in plan if isinstance(item, step.Keep) and item.optional]
    assert len(queues) == (2 if leaves else 0)
    check_shell(plan, ["ap", "station"])


def test_rts_is_set_at_both_ends() -> None:
    plan = planned(rts_threshold="500B", stations=2)
    for radio, node in enumerate(("ap", "station", "station2")):
        assert f"must iw phy phy{radio} set rts 500" in section(plan, node)
    assert "set rts" not in text(planned())


def test_the_limit_of_queues_is_set_at_both_ends() -> None:
    plan = planned(txq_limit="256")
    for radio, node in enumerate(("ap", "station")):
        assert f"must iw phy phy{radio} set txq limit 256" in section(plan, node)
    assert "set txq" not in text(planned())


def test_a_run_records_the_settings_of_radios() -> None:
    assert "must airsim radio show >radios.txt" in commands(planned())


def test_only_access_points_send_trigger_frames() -> None:
    ax: dict[str, Plain] = {"standard": "802.11ax", "width": "80MHz", "ul_ofdma": "on"}
    adds = [line for line in text(planned(**ax)).splitlines() if "radio add" in line]
    assert ["ul_ofdma on ul_ofdma_interval_us 5000" in line for line in adds] == [True, False]
    assert "ul_ofdma_interval_us 500" in text(planned(**ax, ul_ofdma_interval="500us"))
    assert "ul_ofdma" not in text(planned(standard="802.11ax"))


@pytest.mark.parametrize(
    ("mu_edca", "expected"),
    [
        ("low", ["be_aifsn=8", "be_aci=0", "be_ecwmin=9", "be_ecwmax=10", "be_timer=255"]),
        ("never", ["be_aifsn=0", "be_aci=0", "be_ecwmin=9", "be_ecwmax=10", "be_timer=255"]),
        ("off", []),
    ],
)
def test_hostapd_announces_mu_edca(mu_edca: str, expected: list[str]) -> None:
    values = {"standard": "802.11ax", "ul_ofdma": "on", "mu_edca": mu_edca}
    conf = hostapd_conf(Parameters().replace(values), ssid="x").splitlines()
    prefix = "he_mu_edca_ac_"
    found = [line.removeprefix(prefix) for line in conf if line.startswith(f"{prefix}be")]
    assert found == expected
    assert len([line for line in conf if line.startswith(prefix)]) == 4 * len(expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"ul_ofdma": "on"},
            "on is not allowed with standard 802.11n; allowed: off; other values need standard "
            "802.11ax",
        ),
        ({"standard": "802.11ac", "width": "80MHz", "ul_ofdma": "on"}, "need standard 802.11ax"),
        ({"ul_ofdma": "maybe"}, "'on' or 'off'"),
        ({"standard": "802.11ax", "mu_edca": "never"}, "need ul_ofdma on"),
        ({"standard": "802.11ax", "ul_ofdma_interval": "2ms"}, "need ul_ofdma on"),
        (
            {"standard": "802.11ax", "ul_ofdma": "on", "ul_ofdma_interval": "0ms"},
            "out of range; allowed: 100us to 1s",
        ),
    ],
)
def test_wrong_settings_of_ul_ofdma(values: dict[str, Plain], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Parameters().replace(values)
