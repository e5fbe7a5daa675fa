"""An agent that asks a model, behind any endpoint with OpenAI's chat completions."""
