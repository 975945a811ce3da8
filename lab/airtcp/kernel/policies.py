# SPDX-License-Identifier: GPL-2.0-only
"""The ACK policies that the laboratory's kernel has: Linux' own, and those of kernel/."""

# Linux' own, with which the others are compared.
BASELINE = "default"

SHIPPED = (BASELINE, "aad", "aad-listing", "limit", "every", "count", "tack", "divack")
