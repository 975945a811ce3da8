# SPDX-License-Identifier: GPL-2.0-only
"""Frame errors on the air, and their causes."""

from typing import Annotated, ClassVar, Literal

from airtcp.parameters.mobility import FARTHEST_M, Walk
from airtcp.parameters.quantity import distance, fraction, frequency, level, ratio
from airtcp.parameters.section import OnlyWith, RadioKey, Scale, Section, parameter

_WIFI = OnlyWith("access", "wifi")
_FIXED = OnlyWith("error_model", "fixed")
_FIXED_OR_BURST = OnlyWith("error_model", "fixed", "burst")
_BURST = OnlyWith("error_model", "burst")
_SNR = OnlyWith("error_model", "snr")
_FADING = OnlyWith("fading", "rayleigh", "rician")


class ErrorModel(Section):
    """The cause of frame errors."""

    only_with: ClassVar = _WIFI

    error_model: Literal["fixed", "snr", "burst"] = parameter(
        "error_model",
        "fixed",
        "cause of frame losses: fixed probabilities, noise, or bursts (Gilbert-Elliott)",
    )


class Place(Section):
    """The position of a station."""

    only_with: ClassVar = _WIFI

    distance_m: Annotated[float | None, distance(0, FARTHEST_M, "none"), _SNR] = parameter(
        "distance", None, "distance from the access point; in the default topology, of all stations"
    )
    walk: Annotated[Walk, _SNR] = parameter(
        "walk",
        None,
        "position (x or x/y) over time from the start of the transfer, as in 0s=5m,10s=40m/20m; "
        "linear in between",
    )


class Propagation(Place, ErrorModel):
    """Parameters of the medium, the same for all radios."""

    only_with: ClassVar = _WIFI

    path_loss_exponent: Annotated[float, fraction(1, 10), Scale(1e3)] = parameter(
        "path_loss_exponent", 3.0, "distance, walk: path loss exponent (2: free space)"
    )
    cca_threshold_dbm: Annotated[float, level(-120, 0), _SNR] = parameter(
        "cca_threshold",
        -90.0,
        "error_model snr: weaker signals are neither received nor sensed",
    )
    fading: Annotated[Literal["none", "rayleigh", "rician"], _SNR] = parameter(
        "fading",
        "none",
        "multipath fading of all signals, with a line of sight (rician) or without one",
    )
    doppler_hz: Annotated[float, frequency(0.001, 1000), _FADING] = parameter(
        "doppler", 6.0, "fading: maximum Doppler frequency; by default that of walking people"
    )
    rician_k_db: Annotated[float, ratio(-20, 20), OnlyWith("fading", "rician")] = parameter(
        "rician_k", 3.0, "fading rician: power of the line of sight relative to all other paths"
    )


class Errors(Section):
    """Errors of frames that a radio receives. They may change during a run."""

    only_with: ClassVar = _WIFI

    error_rate: Annotated[float, fraction(0, 1), _FIXED, RadioKey("mpdu_error_ppm", 1e6)] = (
        parameter("error_rate", 0.0, "fixed: loss probability of an MPDU")
    )
    burst_enter: Annotated[float, fraction(0, 1), _BURST, RadioKey("burst_enter_ppm", 1e6)] = (
        parameter("burst_enter", 0.0, "burst: probability per MPDU that the channel turns bad")
    )
    burst_leave: Annotated[float, fraction(0, 1), _BURST, RadioKey("burst_leave_ppm", 1e6)] = (
        parameter(
            "burst_leave", 1.0, "burst: probability per MPDU that the channel turns good again"
        )
    )
    burst_good_error: Annotated[
        float, fraction(0, 1), _BURST, RadioKey("burst_good_error_ppm", 1e6)
    ] = parameter(
        "burst_good_error", 0.0, "burst: loss probability of an MPDU while the channel is good"
    )
    burst_bad_error: Annotated[
        float, fraction(0, 1), _BURST, RadioKey("burst_bad_error_ppm", 1e6)
    ] = parameter(
        "burst_bad_error", 1.0, "burst: loss probability of an MPDU while the channel is bad"
    )
    response_error_rate: Annotated[
        float, fraction(0, 1), _FIXED_OR_BURST, RadioKey("response_error_ppm", 1e6)
    ] = parameter(
        "response_error_rate",
        0.0,
        "fixed, burst: loss probability of ACKs, BlockAcks, RTS, CTS and Trigger frames",
    )
    snr_db: Annotated[float | None, ratio(0, 100, "none"), _SNR] = parameter(
        "snr", None, "signal-to-noise ratio in the channel's width, access point to station"
    )
