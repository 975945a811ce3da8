# SPDX-License-Identifier: GPL-2.0-only
"""Custom topologies.

scene.py    a topology and a cell's parameters ──► nodes with their own parameters, streams
build.py    a scene ──► plan.sh: the network
traffic.py  a scene ──► plan.sh: flows, changes, instruments
repolicy.py in the guest: another ACK policy for connections that there are
measured.py files ──► the figures of the whole and of each flow
"""
