"""Generated requests, compared with /openapi.json: script/test openapi."""
