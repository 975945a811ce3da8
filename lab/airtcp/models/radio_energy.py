# SPDX-License-Identifier: GPL-2.0-only
"""Power that a radio draws, by the time that it spends in each state.

Currents and voltage are the defaults of ns-3's WifiRadioEnergyModel and BasicEnergySource: 380 mA
to transmit, 313 mA to receive, 273 mA while idle and 33 mA in power save, at 3 V.
"""

TRANSMITTING_W = 1.140
RECEIVING_W = 0.939
IDLE_W = 0.819
DOZING_W = 0.099


def mean_power_w(transmitting: float, receiving: float, dozing: float) -> float:
    """Mean power in watts. Arguments: shares of time; the radio is idle for the rest.

    Raises ValueError if a share is negative, or if they add up to more than 1.
    """
    idle = 1 - transmitting - receiving - dozing
    if min(transmitting, receiving, dozing) < 0 or idle < -1e-9:
        raise ValueError(f"{transmitting}, {receiving}, {dozing}: not shares of the same period")
    return (
        TRANSMITTING_W * transmitting
        + RECEIVING_W * receiving
        + IDLE_W * max(idle, 0.0)
        + DOZING_W * dozing
    )
