"""Playbooks as tests need them."""

from uuid import uuid4

from contend.models.playbook import Playbook
from contend.stores.playbooks import Curation, PlaybookStore


async def save_playbook(store: PlaybookStore, playbook: Playbook) -> Playbook:
    """Make these bullets the version after `playbook.version`."""
    curation = Curation(playbook.bullets, [], [], {}, "")
    await store.apply(playbook.dataset, uuid4().hex, lambda _: curation, base_version=playbook.version)
    return await store.load(playbook.dataset)
