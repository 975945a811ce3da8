# SPDX-License-Identifier: GPL-2.0-only
"""Build kernel images, patch series and Debian packages from Linux source and kernel/."""
