# SPDX-License-Identifier: GPL-2.0-only
"""Linux source and kernel/ become kernel images, patches to post and Debian packages."""
