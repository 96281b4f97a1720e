"""The condensed readable: what tools got and gave is folded to its first two lines."""

from collections.abc import Iterable, Iterator

from sjduck.readable import Block, Line, numbered_lines

SHOWN_LINES = 2
SHOWN_CHARACTERS = 200
_FENCE = "```"


class Condensed:
    """Folds the fences of tool calls and results; counts the blocks that it folded."""

    def __init__(self) -> None:
        self.folded = 0

    def lines(self, blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
        """Yield the lines to show with their numbers in the readable; fences of what was said
        stay whole."""
        block: Block | None = None
        fence: list[Line] = []
        for line in numbered_lines(blocks):
            if line.block is not block:
                yield from self._fold(fence)
                fence = []
            block = line.block
            if block is not None and _is_tools(block):
                fence.append(line)
            else:
                yield line.number, line.text
        yield from self._fold(fence)

    def _fold(self, lines: list[Line]) -> Iterator[tuple[int, str]]:
        """Show a tool's block: its heading, two short lines of the fence, and how many more."""
        opened = next((n for n, line in enumerate(lines) if line.text.startswith(_FENCE)), None)
        if opened is None:
            yield from ((line.number, line.text) for line in lines)
            return
        closed = max(n for n, line in enumerate(lines) if line.text == _FENCE or n == opened)
        inside = lines[opened + 1 : closed]
        yield from ((line.number, line.text) for line in lines[: opened + 1])
        shown = inside[:SHOWN_LINES]
        for line in shown:
            yield line.number, _short(line.text)
        elided = len(inside) - len(shown)
        if elided:
            yield inside[SHOWN_LINES].number, f"… (+{elided} lines elided)"
        self.folded += elided > 0 or any(len(line.text) > SHOWN_CHARACTERS for line in shown)
        yield from ((line.number, line.text) for line in lines[max(closed, opened + 1) :])


def _is_tools(block: Block) -> bool:
    return block.kind in ("tool_use", "tool_result") or (
        block.kind == "markdown" and block.signal == "low"
    )


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
