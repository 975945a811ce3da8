# SPDX-License-Identifier: GPL-2.0-only
"""The ACK policies in the laboratory's kernel: that of Linux, and those in kernel/."""

# The behaviour of plain Linux, with which the others are compared.
BASELINE = "default"

SHIPPED = (BASELINE, "aad", "aad-listing", "limit", "every", "count", "tack", "divack")
