"""The page and its JSON API; needs starlette and uvicorn (pip install 'hardalign[serve]')."""
