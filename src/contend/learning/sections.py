"""The sections of each dataset's playbook, from `config/sections.yaml`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from contend.errors import InputError
from contend.models.playbook import PlaybookSection
from contend.models.record import Identifier
from contend.settings.files import first_fault

_FILE: TypeAdapter[dict[Identifier, list[PlaybookSection]]] = TypeAdapter(dict[Identifier, list[PlaybookSection]])


@dataclass(frozen=True)
class SectionFile:
    """A YAML file: for each dataset a list of `name` and `description`."""

    path: Path

    def of(self, dataset: str) -> list[PlaybookSection]:
        """The dataset's sections; none where the file or the dataset is missing. Blocks.

        Raises:
            InputError: the file is malformed.
        """
        return self._read().get(dataset, [])

    def _read(self) -> dict[str, list[PlaybookSection]]:
        try:
            sections = _FILE.validate_python(yaml.safe_load(self.path.read_text("utf-8")) or {})
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._malformed(error.strerror or str(error)) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise self._malformed(f"not YAML: {' '.join(str(error).split())}") from error
        except ValidationError as error:
            raise self._malformed(first_fault(error)) from error
        for dataset, own in sections.items():
            for name, times in Counter(section.name for section in own).items():
                if times > 1:
                    raise self._malformed(f"{dataset}: section {name!r} stands there twice")
        return sections

    def _malformed(self, why: str) -> InputError:
        return InputError(f"{self.path}: {why}: write `dataset:` with a list of `name` and `description`, or remove it")
