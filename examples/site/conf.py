"""How Sphinx builds the site: `sphinx-build -W -n examples/site build/site` from the project's folder.

Foreign names are links where their inventories can be downloaded: `-t online` asks for that. Without it the build needs
no network, and names of other packages stay text.
"""

import sys
from pathlib import Path

import matplotlib as mpl

SITE = Path(__file__).parent
sys.path[:0] = [str(SITE), str(SITE.parents[1])]
mpl.use("Agg")

import pages  # noqa: E402
import pictures  # noqa: E402
import words  # noqa: E402

import pymoo_anon  # noqa: E402

project = "pymoo_anon"
author = copyright = "The authors of pymoo_anon"
version = release = pymoo_anon.__version__
html_title = f"pymoo_anon {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
# The front page includes the readme.
exclude_patterns = ["generated/scripts", "generated/readme.md"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
toc_object_entries = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
# Pages of results may begin below the second level.
suppress_warnings = ["myst.header"]

# One page a name is written by `pages`; autosummary draws the tables of a room.
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "numpy.typing.ArrayLike"}
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_rtype, napoleon_use_ivar, napoleon_attr_annotations = False, True, False

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "pandas": ("https://pandas.pydata.org/docs", None),
    "pymoo": ("https://pymoo.org", None),
}
if not tags.has("online"):  # noqa: F821 - Sphinx gives it
    intersphinx_mapping = {}
# Names of other packages: text where there is no inventory, and pymoo documents few of its own.
nitpick_ignore_regex = [(r"py:.*", r"(?!pymoo_anon\b).*")]

sphinx_gallery_conf = {
    "examples_dirs": "generated/scripts",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("pymoo_anon",),
    "reference_url": {"pymoo_anon": None},
    "filename_pattern": ".",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "pictures.reads_itself"),
    "image_scrapers": ("pictures.scraper",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
}


def open_branch(app, page, template, context, doctree):
    """Show the branch of the current page alone in the navigation: all branches would take most of the time."""
    if "toctree" in context:
        whole = context["toctree"]
        context["toctree"] = lambda **asked: whole(**{**asked, "collapse": True})


def setup(app):
    """Write the generated pages first, and check the pictures last."""
    pages.write(SITE / "generated")
    app.connect("autodoc-process-docstring", words.as_rst, priority=400)
    app.connect("autodoc-process-signature", words.short_arrays)
    app.connect("doctree-resolved", words.short_properties)
    app.connect("missing-reference", words.public_reference)
    app.connect("html-page-context", open_branch, priority=400)
    app.connect("build-finished", pictures.check)
