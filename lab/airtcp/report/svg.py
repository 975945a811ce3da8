# SPDX-License-Identifier: GPL-2.0-only
"""Prepares Matplotlib's SVG for an HTML page."""

import re
from collections.abc import Mapping
from html import escape

from airtcp.report.palette import PALETTE


def with_tips(svg: str, tips: Mapping[str, str]) -> str:
    """The SVG with a <title> in each group whose id is a key of tips."""

    def with_tip(group: re.Match[str]) -> str:
        tip = tips.get(group[1])
        return group[0] if tip is None else f"{group[0]}<title>{escape(tip)}</title>"

    return re.sub(r'<g id="([^"]*)">', with_tip, svg) if tips else svg


def for_page(svg: str, slug: str, title: str, description: str) -> str:
    """Convert an SVG document of Matplotlib to an accessible element of an HTML page."""
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{slug}-", svg)  # unique in the page
    for role, (light, _) in PALETTE.items():
        svg = svg.replace(light, f"var(--{role})")
    svg = svg.replace("'DejaVu Sans'", "var(--sans)")
    view_box = re.search(r'viewBox="[^"]*"', svg)
    assert view_box
    head = (
        f'<svg {view_box[0]} role="img" aria-labelledby="{slug}-t {slug}-d"'
        ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{slug}-t">{escape(title)}</title>'
        f'<desc id="{slug}-d">{escape(description)}</desc>'
    )
    return head + svg[svg.index(">") + 1 :]
