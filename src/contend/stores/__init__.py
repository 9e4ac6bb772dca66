"""What is kept between runs: documents, leases on threads, the record, checkpoints and playbooks.

The record, checkpoints and playbooks are imported from their own modules: they load what most callers do without.
"""

from contend.stores.documents import DocumentStore, RecordDocuments, content_id, passage_id, text_id
from contend.stores.files import write_file
from contend.stores.leases import Lease, checked_thread, is_leased, lease, resume_command, thread_name

__all__ = [
    "DocumentStore",
    "Lease",
    "RecordDocuments",
    "checked_thread",
    "content_id",
    "is_leased",
    "lease",
    "passage_id",
    "resume_command",
    "text_id",
    "thread_name",
    "write_file",
]
