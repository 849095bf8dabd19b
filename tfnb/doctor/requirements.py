"""What this package requires of others, as its metadata say it, which the build takes from pyproject.toml.

Invariant: nothing but Python's own modules is needed, so that whatever is missing can be named.
"""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

from tfnb.doctor.records import pip_install

__all__ = [
    "CHECKOUT",
    "COME_ALONG",
    "FOLDER",
    "install_again",
    "module_of",
    "name_of",
    "requirement_for",
    "requirements",
]

FOLDER = Path(__file__).resolve().parents[2]  # that `import tfnb` was found in: site-packages, or a checkout
CHECKOUT = FOLDER if (FOLDER / "pyproject.toml").is_file() else None

# The module by which a distribution is imported, where that is not its name.
_MODULES = {"absl-py": "absl", "google-re2": "re2", "pillow": "PIL", "protobuf": "google.protobuf"}
# What a requirement brings along and tfnb imports itself.
COME_ALONG = {
    "IPython": "ipywidgets",
    "jupyter_core": "jupyterlab",
    "jupyter_server": "jupyterlab",
    "jupyterlab_server": "jupyterlab",
    "packaging": "jupyterlab",
    "tornado": "jupyterlab",
    "traitlets": "ipywidgets",
}


def requirements() -> list[str]:
    """Returns the texts of the requirements without extras, such as "bokeh<4,>=3.6".

    Raises `PackageNotFoundError` if this package is not installed.
    """
    return [text for text in metadata.requires("tfnb") or () if "extra ==" not in text]


def install_again(*options: str) -> str:
    """Returns the command that installs this package again, from where it came: a checkout, a file, or an index."""
    if CHECKOUT is not None:
        return pip_install(*options, "--editable", str(CHECKOUT))
    try:
        told = metadata.distribution("tfnb").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        told = None
    return pip_install(*options, json.loads(told)["url"] if told else "tfnb")


def name_of(requirement: str) -> str:
    """Returns the name of the distribution that a requirement asks for, in lower case."""
    return re.split(r"[\[<>=!~; (]", requirement, maxsplit=1)[0].strip().lower()


def module_of(name: str) -> str:
    """Returns the module by which a distribution is imported."""
    return _MODULES.get(name, name.replace("-", "_"))


def requirement_for(module: str) -> str:
    """Returns the requirement that brings a module, which may be one inside a package; else the package's name."""
    try:
        known = requirements()
    except metadata.PackageNotFoundError:
        known = []
    for text in known:
        if f"{module}.".startswith(f"{module_of(name_of(text))}."):
            return text.replace(" ", "")
    package = module.partition(".")[0]
    return requirement_for(COME_ALONG[package]) if package in COME_ALONG else package
