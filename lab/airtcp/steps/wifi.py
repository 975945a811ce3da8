# SPDX-License-Identifier: GPL-2.0-only
"""Radios: their settings, hostapd's configuration, and frame errors."""

from collections.abc import Iterable, Mapping

from airtcp.parameters import Parameters
from airtcp.parameters.errors import Errors
from airtcp.parameters.ieee80211 import (
    STANDARDS,
    centre_channel,
    frequency_mhz,
    is_2ghz,
    is_6ghz,
)
from airtcp.parameters.mobility import Position
from airtcp.parameters.radio import Radio
from airtcp.parameters.section import airsim_keys
from airtcp.steps.step import Associate, AwaitCarrier, Instrument, Step, WriteFile, run
from airtcp.testbed.addresses import radio_mac

# hostapd's beacon interval: 100 time units of 1.024 ms.
BEACON_INTERVAL_S = 0.1024

_SUPPLICANT = "wpa_supplicant -B -i wlan0 -D nl80211"
_SCAN_S, _SELDOM_S = 1, 3600


def phy(parameters: Parameters, radio: int) -> list[Step]:
    """Set the RTS threshold and the limit of the queues of a radio."""
    steps: list[Step] = []
    if parameters.rts_threshold_bytes is not None:
        steps.append(run(f"iw phy phy{radio} set rts {parameters.rts_threshold_bytes}"))
    if parameters.txq_limit_packets is not None:
        steps.append(run(f"iw phy phy{radio} set txq limit {parameters.txq_limit_packets}"))
    return steps


def queues(radio: int, peer: int) -> str:
    """mac80211's file with counters of the queues of a radio for a peer."""
    stations = f"/sys/kernel/debug/ieee80211/phy{radio}/netdev:wlan0/stations"
    return f"{stations}/{radio_mac(peer)}/aqm"


def beaconing(conf: str) -> list[Step]:
    """Start hostapd at an access point and wait until the network is up."""
    what = "hostapd has started the network"
    return [run(f"hostapd -B {conf}"), AwaitCarrier("wlan0", 60, what)]


def secrets(parameters: Parameters, ssid: str) -> list[Step]:
    """Write what the stations of a network need to associate, if that is more than its name."""
    if not is_6ghz(parameters.channel):
        return []
    return [WriteFile(_supplicant_conf(ssid), supplicant_conf(parameters, ssid))]


def associating(parameters: Parameters, ssid: str, bssid: str) -> list[Step]:
    """Associate a station. bssid: empty if any access point with this SSID will do."""
    if is_6ghz(parameters.channel):
        return [run(f"{_SUPPLICANT} -c {_supplicant_conf(ssid)}")]
    return [Associate(ssid, frequency_mhz(parameters.channel), 30, bssid)]


def associated(parameters: Parameters) -> list[Step]:
    """Wait until a station is associated."""
    return await_association() if is_6ghz(parameters.channel) else []


def await_association() -> list[Step]:
    """Wait until wpa_supplicant has associated a station."""
    return [AwaitCarrier("wlan0", 30, "the station is associated")]


def roaming(name: str, channels: Iterable[int]) -> list[Step]:
    """Associate a station that chooses its access points; wpa_supplicant logs what it does.

    A scan may miss an access point, if beacons and answers collide: wpa_supplicant also chooses
    from what the kernel has kept of a scan before its own.
    """
    scan = run(f"iw dev wlan0 scan freq {_frequencies(channels)}", stdout="/dev/null")
    log = f"-t -f wpa_supplicant-{name}.log"
    return [scan, run(f"{_SUPPLICANT} {log} -c {_supplicant_conf(name)}")]


def roaming_conf(name: str, ssid: str, channels: Iterable[int], below_dbm: float) -> Step:
    """Write the configuration of such a station, in an open network on these channels.

    bgscan: seconds between scans while the signal is weaker than a threshold, that threshold, and
    seconds between scans otherwise. wpa_supplicant joins an access point that is stronger by some
    decibels.
    """
    text = (
        f'network={{\n\tssid="{ssid}"\n\tkey_mgmt=NONE\n\tscan_freq={_frequencies(channels)}\n'
        f'\tbgscan="simple:{_SCAN_S}:{round(below_dbm)}:{_SELDOM_S}"\n}}\n'
    )
    return WriteFile(_supplicant_conf(name), text)


def _frequencies(channels: Iterable[int]) -> str:
    return " ".join(str(mhz) for mhz in sorted({frequency_mhz(each) for each in channels}))


def power_save(parameters: Parameters) -> list[Step]:
    """Turn the power save of a station on or off."""
    return [run(f"iw dev wlan0 set power_save {'on' if parameters.power_save else 'off'}")]


def scanning(parameters: Parameters, node: str) -> list[Step]:
    """Scan all channels again and again until the end; a scan that is refused is left out."""
    if not parameters.scan_interval_s:
        return []
    scan = "iw dev wlan0 scan >/dev/null 2>&1"
    loop = f"while sleep {parameters.scan_interval_s:g}; do {scan} || :; done"
    return [Instrument(run("sh -c", loop, node=node))]


# Seconds between two looks at whether a station is still associated.
_LOOK_S = 0.5


def reassociating(parameters: Parameters, ssid: str, bssid: str, node: str) -> list[Step]:
    """Associate a station again whenever it has lost its association, until the end."""
    if is_6ghz(parameters.channel):
        return []  # wpa_supplicant does so
    connect = f"iw dev wlan0 connect {ssid} {frequency_mhz(parameters.channel)} {bssid}".rstrip()
    loop = f"while sleep {_LOOK_S:g}; do case $(iw dev wlan0 link) in Not*) {connect}; esac; done"
    return [Instrument(run("sh -c", loop, node=node))]


def hostapd_conf(parameters: Parameters, ssid: str) -> str:
    """hostapd's configuration: an open network of the standard, on one channel; WPA3 at 6 GHz."""
    standard = STANDARDS[parameters.standard]
    lines = [
        "interface=wlan0",
        "bridge=br0",
        "driver=nl80211",
        f"ssid={ssid}",
        f"hw_mode={'g' if is_2ghz(parameters.channel) else 'a'}",
        f"channel={parameters.channel}",
    ]
    if is_6ghz(parameters.channel):
        lines += _6ghz(parameters)
    elif not standard.legacy:
        lines += ["ieee80211n=1", f"ht_capab={_ht_capabilities(parameters)}"]
    if standard.has("vht") and not (is_2ghz(parameters.channel) or is_6ghz(parameters.channel)):
        lines += [
            "ieee80211ac=1",
            f"vht_capab={_vht_capabilities(parameters)}",
            *_operation("vht", parameters),
        ]
    if standard.has("he"):
        lines += ["ieee80211ax=1", *_operation("he", parameters)]
    if standard.has("eht"):
        lines += ["ieee80211be=1", *_operation("eht", parameters)]
    if parameters.ul_ofdma == "on" and parameters.mu_edca != "off":
        lines += _mu_edca(suspends=parameters.mu_edca == "never")
    return "\n".join([*lines, f"wmm_enabled={int(parameters.wmm)}", ""])


# hostapd refuses open networks at 6 GHz, where the standard requires WPA3.
_PASSWORD = "laboratory"
_OPERATING_CLASSES = {20: 131, 40: 132, 80: 133, 160: 134, 320: 137}


def _6ghz(parameters: Parameters) -> list[str]:
    """The operating class, which determines the width, what the radios do not have, and WPA3."""
    return [
        f"op_class={_OPERATING_CLASSES[parameters.width_mhz]}",
        f"he_6ghz_max_mpdu={2 if parameters.amsdu == 'on' else 0}",
        *("wpa=2", "wpa_key_mgmt=SAE", "rsn_pairwise=CCMP", "ieee80211w=2", "sae_pwe=1"),
        f"sae_password={_PASSWORD}",
    ]


def supplicant_conf(parameters: Parameters, ssid: str) -> str:
    """wpa_supplicant's configuration: such a network."""
    return (
        f'sae_pwe=1\nnetwork={{\n\tssid="{ssid}"\n\tkey_mgmt=SAE\n\tpairwise=CCMP\n'
        f'\tieee80211w=2\n\tsae_password="{_PASSWORD}"\n'
        f"\tscan_freq={frequency_mhz(parameters.channel)}\n}}\n"
    )


def _supplicant_conf(name: str) -> str:
    """The file for a network, or for a station that roams."""
    return f"/tmp/wpa_supplicant-{name}.conf"


# AIFSN and the exponents of CWmin and CWmax after UL OFDMA.
_LOW_PRIORITY = {"be": (8, 9, 10), "bk": (15, 9, 10), "vi": (5, 5, 7), "vo": (5, 5, 7)}
_MU_EDCA_TIMER = 255  # units of 8.192 ms


def _mu_edca(suspends: bool) -> list[str]:
    """The MU EDCA Parameter Set. suspends: with AIFSN 0, stations do not contend."""
    return [
        f"he_mu_edca_ac_{ac}_{name}={value}"
        for index, (ac, (aifsn, *exponents)) in enumerate(_LOW_PRIORITY.items())
        for name, value in (
            ("aifsn", 0 if suspends else aifsn),
            ("aci", index),
            ("ecwmin", exponents[0]),
            ("ecwmax", exponents[1]),
            ("timer", _MU_EDCA_TIMER),
        )
    ]


def _ht_capabilities(parameters: Parameters) -> str:
    wide = parameters.width_mhz > 20
    names = ["HT40+"] if wide else []
    if _short_guard(parameters):
        names += ["SHORT-GI-20", "SHORT-GI-40"] if wide else ["SHORT-GI-20"]
    return "".join(f"[{name}]" for name in names)


def _vht_capabilities(parameters: Parameters) -> str:
    names = ["MAX-A-MPDU-LEN-EXP7"]
    if parameters.width_mhz > 80:
        names.append("VHT160")
    if _short_guard(parameters):
        names += [f"SHORT-GI-{width}" for width in (80, 160) if width <= parameters.width_mhz]
    return "".join(f"[{name}]" for name in names)


def _short_guard(parameters: Parameters) -> bool:
    return parameters.rate_control == "minstrel" or parameters.guard_ns == 400


def _operation(prefix: str, parameters: Parameters) -> list[str]:
    """The channel's width as in VHT Operation; HE and EHT have the same encoding."""
    # Before EHT, a channel of 320 MHz is one of 160 MHz.
    width_mhz = parameters.width_mhz if prefix == "eht" else min(parameters.width_mhz, 160)
    width = {20: 0, 40: 0, 80: 1, 160: 2, 320: 9}[width_mhz]
    centre = centre_channel(parameters.channel, width_mhz)
    return [f"{prefix}_oper_chwidth={width}", f"{prefix}_oper_centr_freq_seg0_idx={centre}"]


def radio_keys(parameters: Parameters, station: bool = False) -> str:
    """Arguments of `airsim radio add`: the preset, and settings that override it.

    station: it is the radio of a station, which can save power, and sends no Trigger frames.
    """
    keys: dict[str, object] = {
        "preset": parameters.preset,
        "standard": parameters.standard,
        "streams": parameters.streams,
        "width_mhz": _radio_width_mhz(parameters),
        "ba_window": STANDARDS[parameters.standard].ba_window,
        "mpdu_spacing_ns": _spacing_ns(parameters),
        **airsim_keys(parameters, Radio),
    }
    if "hold" in parameters.ack_filter:
        keys |= {
            "ack_hold": parameters.ack_hold,
            "ack_hold_us": _microseconds(parameters.ack_hold_delay_s),
            "ack_hold_kbps": round((parameters.ack_hold_rate_bps or 0) / 1000),
        }
    if station and parameters.power_save:
        keys["power_save"] = "on"
    if not station and parameters.ul_ofdma == "on":
        keys["ul_ofdma"] = "on"
        keys["ul_ofdma_interval_us"] = _microseconds(parameters.ul_ofdma_interval_s)
    if parameters.rate_control != "minstrel":
        keys |= _rate_keys(parameters)
    if parameters.rate_control == "ideal":
        keys["rate_ideal"] = "on"
    return _words({key: value for key, value in keys.items() if value not in (None, "preset")})


def changed(before: Parameters, after: Parameters) -> str:
    """Arguments of `airsim radio set` for a changed rate and changed errors; empty if equal."""
    settings = []
    if after.rate_control == "fixed" and after.radio_rate != before.radio_rate:
        settings.append(_words(_rate_keys(after)))
    if error_keys(after) != error_keys(before):
        settings.append(error_keys(after))
    return " ".join(settings)


def link_rate(
    access_point: Parameters, station: Parameters, sender: int, receiver: int
) -> list[Step]:
    """Send to a station at its own rate, where both have fixed rates.

    sender, receiver: numbers of the radios of the access point and the station.
    """
    if {access_point.rate_control, station.rate_control} != {"fixed"}:
        return []
    keys = _words(_rate_keys(station))
    return [run(f"airsim link set {sender} {receiver} {keys}")]


def _radio_width_mhz(parameters: Parameters) -> int:
    """The channel's width, or 80 MHz: at 5 GHz mac80211 treats a narrower radio as 802.11n."""
    standard = STANDARDS[parameters.standard]
    least = 80 if standard.has("vht") and not is_2ghz(parameters.channel) else 20
    return max(least, parameters.width_mhz)


def _rate_keys(parameters: Parameters) -> dict[str, object]:
    rate = parameters.radio_rate
    if rate.format == "ofdm":
        return {"rate_format": "ofdm", "rate_legacy_kbps": rate.legacy_mbps * 1000}
    return {
        "rate_format": rate.format,
        "rate_mcs": rate.mcs,
        "rate_streams": rate.streams,
        "rate_width_mhz": rate.width_mhz,
        "rate_gi_ns": rate.guard_ns,
    }


def _spacing_ns(parameters: Parameters) -> int | None:
    spacing = parameters.mpdu_spacing
    return None if spacing == "preset" else round(float(spacing.removesuffix("us")) * 1000)


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def error_keys(parameters: Parameters) -> str:
    """Arguments of `airsim radio set` for a radio's errors."""
    keys = {"errors": parameters.error_model, **airsim_keys(parameters, Errors)}
    return _words(keys)


def position_keys(position: Position) -> str:
    """Arguments of `airsim radio set` for a radio's position."""
    x_mm, y_mm = (round(1000 * each_m) for each_m in position)
    return f"x_mm {x_mm} y_mm {y_mm}"


def air(parameters: Parameters) -> list[Step]:
    """Set what differs from the defaults for all radios."""
    defaults = Parameters()
    keys = {}
    if parameters.cca_threshold_dbm != defaults.cca_threshold_dbm:
        keys["cca_threshold_mdbm"] = round(parameters.cca_threshold_dbm * 1000)
    if parameters.path_loss_exponent != defaults.path_loss_exponent:
        keys["path_loss_exponent_milli"] = round(parameters.path_loss_exponent * 1000)
    settings = _words(keys)
    return [run(f"airsim air set {settings}")] if settings else []


def fading(parameters: Parameters) -> list[Step]:
    """Start the fading of all signals."""
    if parameters.fading == "none":
        return []
    keys = f"doppler_millihz {round(parameters.doppler_hz * 1000)}"
    if parameters.fading == "rician":
        keys += f" rician_k_milli {round(1000 * 10 ** (parameters.rician_k_db / 10))}"
    return [run(f"airsim air set {keys}")]


def loss(access_point: Parameters, station: Parameters, sender: int, receiver: int) -> list[Step]:
    """Set the path loss in both directions that gives the station's requested SNR.

    Empty without a requested SNR. sender, receiver: numbers of the radios of the access point and
    the station.
    """
    if station.snr_db is None:
        return []
    loss_mdb = round((access_point.sent_dbm - station.noise_dbm - station.snr_db) * 1000)
    links = (f"{sender} {receiver}", f"{receiver} {sender}")
    return [run(f"airsim link set {link} loss_mdb {loss_mdb}") for link in links]


def _words(keys: Mapping[str, object]) -> str:
    return " ".join(f"{key} {value}" for key, value in keys.items())
