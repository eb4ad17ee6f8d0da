"""The presets: providers that need no table in the configuration, as data."""

from collections.abc import Mapping
from typing import Literal

from cogency_tui.config.schema import ProviderSettings

Api = Literal["chat", "responses", "anthropic", "gemini"]


def _preset(
    api: Api, base_url: str = "", model: str = "", key_env: str = "", *, resume: bool | None = None
) -> ProviderSettings:
    return ProviderSettings(base_url, model, key_env, api, resume)


PRESETS: Mapping[str, ProviderSettings] = {
    "openai": _preset("responses", "https://api.openai.com/v1", "gpt-6.1-sol", "OPENAI_API_KEY", resume=True),
    "anthropic": _preset("anthropic", "https://api.anthropic.com", "claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
    "gemini": _preset(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "gemini-4-argon",
        "GEMINI_API_KEY",
        resume=True,
    ),
    "xai": _preset("responses", "https://api.x.ai/v1", "grok-4.7", "XAI_API_KEY", resume=True),
    "deepseek": _preset("chat", "https://api.deepseek.com", "deepseek-v4-pro", "DEEPSEEK_API_KEY"),
    "moonshot": _preset("chat", "https://api.moonshot.ai/v1", "kimi-k3.1-pro", "MOONSHOT_API_KEY"),
    "zai": _preset("chat", "https://api.z.ai/api/paas/v4", "glm-5.3", "ZAI_API_KEY"),
    "minimax": _preset("chat", "https://api.minimax.io/v1", "MiniMax-M3", "MINIMAX_API_KEY"),
    "mistral": _preset("chat", "https://api.mistral.ai/v1", "mistral-large-4-0", "MISTRAL_API_KEY"),
    "qwen": _preset(
        "chat", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3.8-max", "DASHSCOPE_API_KEY"
    ),
    "groq": _preset("chat", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", "GROQ_API_KEY"),
    "azure": _preset("responses", key_env="AZURE_OPENAI_API_KEY", resume=True),
    "bedrock": _preset("responses", key_env="AWS_BEARER_TOKEN_BEDROCK"),
    "openrouter": _preset("chat", "https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"),
    "vercel": _preset(
        "responses", "https://ai-gateway.vercel.sh/v1", key_env="AI_GATEWAY_API_KEY", resume=True
    ),
    "ollama": _preset("chat", "http://127.0.0.1:11434/v1"),
    "lmstudio": _preset("chat", "http://127.0.0.1:1234/v1", resume=True),
    "vllm": _preset("chat", "http://127.0.0.1:8000/v1"),
    # llama.cpp serves one model under any name.
    "llamacpp": _preset("chat", "http://127.0.0.1:8080/v1", "default"),
}

OWN_ADDRESSES: Mapping[str, str] = {
    "azure": "https://RESOURCE.openai.azure.com/openai/v1",
    "bedrock": "https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
}
"""Addresses that differ from user to user; the capitals stand for the user's own."""

ADDRESS_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GEMINI_BASE_URL",
}
"""Variables for another address, as in the vendors' own clients."""

OTHER_KEYS: Mapping[str, str] = {"gemini": "GOOGLE_API_KEY"}
"""Variables for a key when the first one is not set."""
