"""An agent that asks a model behind any endpoint that speaks OpenAI's chat completions."""
