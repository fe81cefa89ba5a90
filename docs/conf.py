"""How the documentation site is built.

`sphinx-build -W -b html docs docs/_build/html` needs the packages of the `docs` extra and no
network: nothing is fetched while it builds, and a built page loads nothing from elsewhere.
"""

import os
import re
from pathlib import Path

# One thread, so that small problems do not wait for each other; before NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode
from sphinx_gallery.sorting import ExplicitOrder

import skdp

project = "skdp"
author = "The skdp developers"
project_copyright = author
version = release = skdp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "examples",
    "gallery/*.ipynb",
    "gallery/*.py",
    "sg_execution_times.rst",
]
templates_path = ["_templates"]
# As in scikit-learn's docstrings: single backticks are code.
default_role = "literal"
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold an object

myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc shows the types, with shapes and units
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"skdp {release}"
html_favicon = "_static/favicon.svg"
html_sidebars = {"start": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "skdp"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_quickstart.py",
            "plot_what_epsilon_means.py",
            "plot_dpsgd_tutorial.py",
            "plot_private_pipeline.py",
            "plot_multiclass_digits.py",
            "plot_text_classification.py",
            "plot_additive_model.py",
            "plot_noise_or_steps.py",
            "*",
        ]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "doc_module": ("skdp",),
    "backreferences_dir": "api/backreferences",
    "reference_url": {"skdp": None},
    "default_thumb_file": str(Path(__file__).parent / "images" / "accuracy.png"),
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "matplotlib_animations": False,
}


def leave_out_request_methods(app, what, name, obj, skip, options):
    """scikit-learn makes these methods, and their text refers to pages of its own site."""
    short = name.rsplit(".", 1)[-1]
    return True if short.startswith("set_") and short.endswith("_request") else skip


def mark_attributes_in_types(app, what, name, obj, options, lines):
    """In "shape (n_features_in_,)" the last underscore would be read as a link."""
    for number, line in enumerate(lines):
        names, colon, kind = line.partition(" : ")
        if colon and not names.startswith(" "):
            lines[number] = names + colon + re.sub(r"\b([a-z]\w*_)(?=[,)])", r"`\1`", kind)


class LinkPublicNames(SphinxPostTransform):
    """A public name in the letters of code leads to its page in the reference."""

    default_priority = 5

    def run(self, **kwargs):
        here, pages = self.env.docname, {}
        for name, entry in self.env.domains.python_domain.objects.items():
            if entry.docname == f"api/{name}":
                pages[name] = pages[name.rsplit(".", 1)[-1]] = entry
        for code in list(self.document.findall(nodes.literal)):
            entry = pages.get(code.astext())
            if entry and entry.docname != here and not isinstance(code.parent, _NO_LINKS_IN):
                target = entry.docname, entry.node_id, code.deepcopy()
                code.replace_self(make_refnode(self.app.builder, here, *target))


_NO_LINKS_IN = nodes.reference | nodes.title


def setup(app):
    app.add_post_transform(LinkPublicNames)
    app.connect("autodoc-skip-member", leave_out_request_methods)
    # Before numpydoc, whose priority is 500.
    app.connect("autodoc-process-docstring", mark_attributes_in_types, priority=400)
