"""Settings: the process's own (keys, addresses, limits) and the workspace's TOML files. Strict; origins are kept.

A value comes from the caller, else the environment, else the workspace's TOML, else the shipped defaults.
"""

from contend.settings.files import (
    Config,
    ModelPrice,
    ModelsConfig,
    OrchestratorSettings,
    ProviderConfig,
    SourceConfig,
    TeamReference,
    checked,
    load_config,
)
from contend.settings.options import ROLES, RunSetup, environment_options, resolve_options, shown_defaults
from contend.settings.process import Settings, is_loopback, load_settings, secret_text, service_address

__all__ = [
    "ROLES",
    "Config",
    "ModelPrice",
    "ModelsConfig",
    "OrchestratorSettings",
    "ProviderConfig",
    "RunSetup",
    "Settings",
    "SourceConfig",
    "TeamReference",
    "checked",
    "environment_options",
    "is_loopback",
    "load_config",
    "load_settings",
    "resolve_options",
    "secret_text",
    "service_address",
    "shown_defaults",
]
