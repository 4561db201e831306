"""The reference worker: runs inside the sandbox, with torch and numpy and nothing else of ours."""
