"""`ChatOpenAI` by the short road: JSON out, JSON in."""

from typing import Any

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI


class PlainChat(ChatOpenAI):
    """Asks by the client's own `post`, with its retries; vendors' errors come as they are.

    By the long road the client looks each message up in all its types and builds its models of the answer, and a
    thread reads those: a third of what a call costs us.
    """

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - nothing is streamed
        **kwargs: Any,  # noqa: ANN401 - as the class above has it
    ) -> ChatResult:
        body = self._get_request_payload(messages, stop=stop, **kwargs)
        body |= body.pop("extra_body", None) or {}
        answer = await self.root_async_client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        said = answer.json()
        result = self._create_chat_result(said)
        for generation, choice in zip(result.generations, said["choices"], strict=True):
            # It reads refusals from the client's own models only.
            generation.message.additional_kwargs["refusal"] = choice["message"].get("refusal")
        return result
