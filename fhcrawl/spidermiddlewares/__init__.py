"""The spider middlewares."""
