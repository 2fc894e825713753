"""Settings of the documentation site: `make docs`. Nothing is fetched, at build time or when it is read."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src"), str(HERE.parent)]

import inventories  # noqa: E402
from explain import write_figures  # noqa: E402
from live_map import write_map  # noqa: E402
from reference_pages import write_pages  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

import softvec  # noqa: E402

os.environ.setdefault("MPLBACKEND", "agg")

project = "softvec"
author = "The softvec developers"
copyright = "The softvec developers"
version = release = softvec.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.zip"]
root_doc = "index"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]  # sphinx-gallery's order is a function

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc states the types
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False

intersphinx_mapping = inventories.mapping(HERE / "_ext" / "inventories", HERE / "_build" / "inventories")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(
        [
            f"{name}.py"
            for name in (
                "communities",
                "attributes",
                "signs",
                "typed_nodes",
                "links",
                "genes",
                "single_cells",
                "epidemic",
                "words",
                "recommendations",
                "documents",
                "features",
                "compare",
                "normalizer",
                "custom_p",
            )
        ]
    ),
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_memory": False,
    "thumbnail_size": (640, 420),
    "download_all_examples": True,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "backreferences_dir": None,
    "promote_jupyter_magic": False,
    "show_signature": False,
    "nested_sections": False,
}

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "softvec"
html_static_path = ["_static", "figures/generated/pages"]
html_css_files = ["softvec.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_depth": 3,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search",
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "start",
        "how_it_works",
        "theory",
        "claims",
        "decisions",
        "architecture",
        "limits",
        "changelog",
        "search",
    )
}

write_pages(HERE / "api" / "generated")
write_figures(HERE / "figures" / "generated")
write_map(HERE / "figures" / "generated" / "pages")
