"""Configuration files: YAML read with positions, and every problem reported with its line, column and remedy."""

from trunkline.core.config.files.gateway_config import load_config, load_config_text
from trunkline.core.config.files.problems import FileError, FileProblem

__all__ = ["FileError", "FileProblem", "load_config", "load_config_text"]
