"""Settings of the site: `uv run --group docs sphinx-build -W docs docs/_build`."""

import sys
from importlib.metadata import version as distribution_version
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import generate  # noqa: E402 — found by the line above
import mathml  # noqa: E402
import names  # noqa: E402
import pictures  # noqa: E402

project = "hmetad"
author = "The hmetad developers"
project_copyright = "The hmetad developers, MIT licence"
release = version = distribution_version("hmetad")
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = [
    "README.md",
    "_build",
    "_ext",
    "generated",
    "jupyter_execute",
    "example/*.md",
    "**/.ipynb_checkpoints",
]
nitpicky = True

# Notebooks are committed with their outputs.
nb_execution_mode = "off"
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_use_legacy_class_based = False
templates_path = ["_templates"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
# Names in single backticks are code; `names` links those that are public.
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = "hmetad"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
# The example as a page of its own, which the one on reading reports links.
html_extra_path = ["example/five_models.html"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["contents"]}
html_math_renderer = "mathml"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_center": [],
    "navbar_persistent": ["search-button-field"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Write what is generated, then let Sphinx read it."""
    generate.write_all(HERE)
    pictures.draw_all(HERE / "generated")
    mathml.setup(app)
    names.setup(app)
