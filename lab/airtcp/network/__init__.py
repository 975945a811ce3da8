# SPDX-License-Identifier: GPL-2.0-only
"""Networks of one's own: an experiment's topology, its flows and what changes on the way.

model.py    YAML ──► what nodes, flows and changes there are; every key with its description
scene.py    a model and a cell's parameters ──► nodes with their own parameters, streams
checks.py   what cannot be, and where it stands
build.py    a scene ──► plan.sh: the network
traffic.py  a scene ──► plan.sh: flows, changes, instruments
repolicy.py in the guest: another ACK policy for connections that there are
describe.py a model in words, and the keys for its page
measured.py files ──► the figures of the whole and of each flow
"""
