"""The documentation site: ``make docs`` builds it into ``docs/_build``."""

from __future__ import annotations

from hardalign import __version__

project = "hardalign"
author = "the hardalign developers"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
"""Links such as ``formats.md#gzip`` work here as they do on a forge."""

html_theme = "furo"
html_title = f"hardalign {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
