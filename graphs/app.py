"""What the Agent Server mounts beside its own routes, and puts in front of them: the research API, and who may ask."""

from contend.api import research_app
from contend.settings import load_settings

app = research_app(load_settings())
